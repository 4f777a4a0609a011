"""QR codes, for the addresses of classes."""

from django.utils.safestring import SafeString, mark_safe


def qr_svg(address: str) -> SafeString:
    """A QR code as SVG for a page: dark on white in both themes, since phones read other colours badly."""
    # Imported here because only the pages of classes need it.
    import segno

    made = segno.make(address, error="m", micro=False)
    drawn: str = made.svg_inline(border=2, dark="#000", light="#fff", omitsize=True)
    return mark_safe(drawn)


def qr_text(address: str) -> str:
    """The same for a terminal."""
    import io

    import segno

    out = io.StringIO()
    segno.make(address, error="m", micro=False).terminal(out=out, compact=True, border=2)
    return out.getvalue()
