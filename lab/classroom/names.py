"""Nicknames: validation, confusable names, and suggestions."""

import re
import secrets
import unicodedata
from collections.abc import Iterable

from lab.models import MAX_NICKNAME_LENGTH
from lab.texts.refusal import Refusal

MAX_TYPED_LENGTH = 200
MAX_MARKS = 2
"""Combining marks in a row: no name needs more, and more would be drawn over other lines."""
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of controls, of bidi and zero-width signs, of lone surrogates, and of what has no meaning."""
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters and symbols that show nothing."""

_LOOKALIKES = {
    "2": "ƧϨᒿꙄꛯꝚ",
    "3": "ƷȜЗӠⳌꝪꞫ𑣊𖼻",
    "4": "Ꮞ𑢯",
    "5": "Ƽ𑢻",
    "6": "бᏮⳒ𑣕",
    "7": "𐓒𑣆",
    "8": "Ȣȣ৪੪𐌚𞣋",
    "9": "৭੧୨൭ⳊꝮ𑢬𑣌𑣖",
    "a": "ɑαаΑАᎪᗅꓮ𐊠𖽀",
    "b": "ƄЬᏏᑲᖯΒВᏴᗷꓐꞴ𐊂𐊡𐌁",
    "c": "сᴄⲥꮯ𐐽СᏟⲤꓚ𐊢𐌂𐐕𐔜𑣩𑣲",
    "d": "ԁᏧᑯꓒᎠᗞᗪꓓ",
    "e": "еҽꬲΕЕᎬⴹꓰ𐊆𑢦𑢮",
    "f": "քẝꞙꬵϜᖴꓝꞘ𐊇𐊥𐔥𑢢𑣂",
    "g": "ƍɡցᶃԌᏀᏳꓖ",
    "h": "һհᏂΗНᎻᕼⲎꓧ𐋏",
    "i": "ıɩɪιіӏᎥꙇꭵ𑣃",
    "j": "ϳјͿЈᎫᒍꓙꞲ",
    "k": "ΚКᏦᛕⲔꓗ𐔘",
    "l": "ƖǀΙІӀוןا١۱ߊᛁⲒⵏꓲ𐊊𐌉𐌠𖼨𞣇ᏞᒪⳐꓡ𐐛𐔦𑢣𑢲𖼖",
    "m": "ΜϺМᎷᗰᛖⲘꓟ𐊰𐌑",
    "n": "ոռΝⲚꓠ𐔓",
    "o": "οσоօסه٥ھہە۵०੦૦௦౦೦ഠ൦๐໐ဝ၀ჿᴏᴑⲟꬽ𐐬𐓪𑣈𑣗ΟОՕ߀০ଠ୦ዐⲞⵔ〇ꓳ𐊒𐊫𐐄𐓂𐔖𑓐𑢵𑣠",
    "p": "ρрⲣΡРᏢᑭⲢꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "гᴦⲅꭇꭈꮁƦᎡᏒᖇꓣ𐒴𖼵",
    "s": "ƽѕꜱꮪ𐑈𑣁ЅՏᏕᏚꓢ𐊖𐐠𖼺",
    "t": "ΤТᎢⲦꓔ𐊗𐊱𐌕𑢼𖼊",
    "u": "ʋυսᴜꞟꭎꭒ𐓶𑣘Սሀᑌꓴ𐓎𑢸𖽂",
    "v": "νѵטᴠꮩ𑜆𑣀Ѵ٧۷Ꮩᐯⴸꓦꛟ𐔝𑢠𖼈",
    "w": "ɯѡԝաᴡꮃ𑜊𑜎𑜏ԜᎳᏔꓪ𑣦𑣯",
    "x": "хᕁᕽΧХᚷⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγуүყᶌỿꭚ𑣜ΥУҮᎩᎽⲨꓬ𐊲𑢤𖽃",
    "z": "ᴢꮓ𑣄ΖᏃꓜ𐋵𑢩𑣥",
}
"""Letters and digits that look like one of ASCII (Unicode Technical Standard 39, confusables.txt, version 15.1)."""
_PLAIN = {ord(sign): plain for plain, signs in _LOOKALIKES.items() for sign in signs} | {
    ord("i"): "l",
    ord("1"): "l",
    ord("|"): "l",
    ord("0"): "o",
    ord("m"): "rn",
}

_OFFERED_EN = (
    """Amber Blue Bold Brave Bright Calm Clever Cosmic Crisp Eager Fair Fast Gentle Golden Green Happy Jolly Keen Kind
    Lucky Mellow Merry Mild Nimble Noble Polar Proud Quick Quiet Rapid Royal Silver Smart Solar Steady Sunny Swift
    Vivid Warm Wise""",
    """Badger Bison Condor Crane Dolphin Eagle Falcon Finch Fox Gecko Gibbon Heron Ibex Ibis Jay Kestrel Koala Lark
    Lemur Lion Lynx Magpie Marten Moose Narwhal Newt Ocelot Orca Osprey Otter Owl Panda Penguin Puffin Raven Robin
    Salmon Sparrow Tiger Wolf""",
)
_OFFERED_ZH = (
    """勇敢的 灵巧的 安静的 明亮的 快乐的 聪明的 沉着的 金色的 银色的 蓝色的 温和的 敏捷的 友善的 幸运的 自信的
    热情的 从容的 坚定的 细心的 认真的""",
    """白鹭 海豚 雄鹰 雪豹 熊猫 企鹅 松鼠 燕子 猎隼 海獭 羚羊 麋鹿 鲸鱼 喜鹊 云雀 水獭 考拉 孔雀 仙鹤 老虎""",
)


def checked_nickname(typed: str) -> str:
    """A nickname as stored: NFKC, trimmed. Raises Refusal if it is empty, too long, has invisible characters, or looks
    like a participant's number.
    """
    if len(typed) > MAX_TYPED_LENGTH:
        raise Refusal("refusal.nickname_too_long", field="name", length=len(typed), max=MAX_NICKNAME_LENGTH)
    name = re.sub(" +", " ", unicodedata.normalize("NFKC", typed)).strip(" ")
    if any(unicodedata.category(sign) in _HIDDEN or sign in _BLANK for sign in name):
        raise Refusal("refusal.nickname_hidden_signs", field="name")
    if not any(sign.isalnum() for sign in name):
        raise Refusal("refusal.nickname_missing", field="name", max=MAX_NICKNAME_LENGTH)
    if len(name) > MAX_NICKNAME_LENGTH:
        raise Refusal("refusal.nickname_too_long", field="name", length=len(name), max=MAX_NICKNAME_LENGTH)
    if _marks_in_a_row(name) > MAX_MARKS:
        raise Refusal("refusal.nickname_marks", field="name", max=MAX_MARKS)
    if re.fullmatch(r"p ?[lo\d]+", skeleton_of(name)):
        raise Refusal("refusal.nickname_is_number", field="name", name=name)
    return name


def skeleton_of(name: str) -> str:
    """A name with confusable characters replaced: two names with the same skeleton look alike. Follows the skeleton of
    UTS 39 for characters that look like ASCII, without case and spaces.
    """
    plain = unicodedata.normalize("NFD", name).translate(_PLAIN).casefold().translate(_PLAIN)
    return "".join(sign for sign in unicodedata.normalize("NFD", plain) if not sign.isspace())


def free_nickname(name: str, taken: Iterable[str]) -> str:
    """The name, or `Ada 2` if another participant's name has the same skeleton."""
    skeletons = set(taken)
    shown, number = name, 1
    while skeleton_of(shown) in skeletons:
        number += 1
        ending = f" {number}"
        shown = name[: MAX_NICKNAME_LENGTH - len(ending)].rstrip() + ending
    return shown


def offered_nickname(language: str, taken: Iterable[str]) -> str:
    """An unused name of two words in the language of the page."""
    is_chinese = language == "zh-CN"
    chosen = [secrets.choice(words.split()) for words in (_OFFERED_ZH if is_chinese else _OFFERED_EN)]
    return free_nickname(("" if is_chinese else " ").join(chosen), taken)


def _marks_in_a_row(name: str) -> int:
    longest = row = 0
    for sign in unicodedata.normalize("NFD", name):
        row = row + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        longest = max(longest, row)
    return longest
