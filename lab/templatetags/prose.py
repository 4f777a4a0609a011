"""The small Markdown of the lessons' texts as HTML, with the rules of static/lab/ui/kit/words.js."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from lab.templatetags.highwater import icon
from lab.texts.keys import CONTROLS, KEY_OF_A_CONTROL

register = template.Library()

_INLINE = re.compile(rf"({KEY_OF_A_CONTROL}|`` .+? ``|`[^`]+`|\*\*(?:[^*]|\*(?!\*))+\*\*|\*[^*]+\*)")
_KEY = re.compile(r"[(（]`+ ?(.+?) ?`+[)）]")
_BULLET = re.compile(r"[-*] ")
_NUMBER = re.compile(r"\d+\. ")
_JOINT = re.compile(r"(?<=[a-z]\.)(?=[a-z])|(?<=[a-z])(?=[A-Z])")


@register.filter
def prose(text: str) -> SafeString:
    """Paragraphs, headings, lists, fenced code, `code`, **bold**, *emphasis*; anything else is plain text."""
    return mark_safe("".join(_block(part.strip()) for part in re.split(r"\n{2,}", text.strip())))


@register.filter
def inline(text: str) -> SafeString:
    """The same for a line: `code`, **bold** and *emphasis*; the others may be inside bold. Code that is a backtick is
    written `` ` ``. A key in parentheses has the symbol of its control beside it; a phone shows only that.
    """
    return mark_safe(_inline(text))


@register.filter
def breakable(text: str) -> SafeString:
    """A line that may be broken inside long names: after the dots of a setting, between the words of a class."""
    return mark_safe("<wbr>".join(map(escape, _JOINT.split(text))))


@register.filter
def first_sentence(text: str) -> str:
    """The first sentence of a text, for a list of contents; the whole first line where it has no end."""
    line = text.strip().split("\n", 1)[0]
    found = re.match(r".+?(?:[.?!:](?:\*\*)?(?=\s|$)|[。？！：](?:\*\*)?)", line)
    sentence = found[0] if found else line
    # A bold lead such as **Predict.** is part of the sentence that follows.
    if sentence.startswith("**") and sentence.endswith("**") and len(sentence) < len(line):
        return sentence + first_sentence(line[len(sentence) :]).join((" ", ""))
    return sentence.rstrip(":：")


def _block(text: str) -> str:
    lines = text.split("\n")
    if text.startswith("```"):
        code = "".join(f'<span class="code-line">{escape(line)}</span>' for line in lines if not line.startswith("```"))
        return f'<pre class="mono">{code}</pre>'
    if text.startswith("#"):
        return f"<h3>{_inline(text.lstrip('#').strip())}</h3>"
    for pattern, tag in ((_BULLET, "ul"), (_NUMBER, "ol")):
        if all(pattern.match(line) for line in lines):
            items = "".join(f"<li>{_inline(pattern.sub('', line, count=1))}</li>" for line in lines)
            return f"<{tag}>{items}</{tag}>"
    return f"<p>{_inline(' '.join(lines))}</p>"


def _inline(text: str) -> str:
    return "".join(map(_part, _INLINE.split(text)))


def _part(part: str) -> str:
    if key := _KEY.fullmatch(part):
        return f'<span class="key">{part[0]}{icon(CONTROLS[key[1]])}<kbd>{escape(key[1])}</kbd>{part[-1]}</span>'
    if part.startswith("`` "):
        return f"<code>{escape(part[3:-3])}</code>"
    if part.startswith("`") and len(part) > 2:
        return f"<code>{escape(part[1:-1])}</code>"
    if part.startswith("**") and len(part) > 4:
        return f"<b>{_inline(part[2:-2])}</b>"
    if part.startswith("*") and len(part) > 2:
        return f"<em>{escape(part[1:-1])}</em>"
    return str(escape(part))
