"""`manage.py lab --host`: what it prints, whom it answers, and what TLS changes."""

import re
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from tests.lab.commands.test_lab_command import LabProcess, lab
from tests.support.paths import DATA

CERTIFICATE = ("--tls-cert", str(DATA / "tls" / "cert.pem"), "--tls-key", str(DATA / "tls" / "key.pem"))


def printed(process: LabProcess) -> str:
    """All that it says until it serves."""
    assert process.process.stdout is not None
    lines = []
    for line in process.process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise AssertionError("the lab ended: " + "".join(lines))


def answer(address: str, host: str = "") -> tuple[int, list[str]]:
    """(status, Set-Cookie headers). The certificate of the tests is nobody's."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, context=context if address.startswith("https") else None) as response:
            return response.status, response.headers.get_all("Set-Cookie") or []
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_all("Set-Cookie") or []


def test_a_room_on_plain_http_prints_address_and_qr_code_and_says_what_browsers_refuse(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", "--name", "lab.example") as process:
        said = printed(process)
        assert re.search(r"Classes are joined at  http://lab\.example:\d+/join/", said)
        assert "█" in said and "microphone" in said and "createinstructor" in said
        local = re.search(r"(http://127\.0\.0\.1:\d+)/sign-in/\?token=", said)
        assert local
        status, cookies = answer(f"{local[1]}/join/")
        assert status == 200 and cookies and not any("Secure" in cookie for cookie in cookies)
        assert answer(f"{local[1]}/join/", "lab.example")[0] == 200
        assert answer(f"{local[1]}/join/", "evil.example")[0] == 400


def test_a_room_with_tls_marks_its_cookies_as_secure(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", *CERTIFICATE) as process:
        said = printed(process)
        assert "microphone" not in said
        local = re.search(r"(https://127\.0\.0\.1:\d+)/sign-in/\?token=", said)
        assert local
        status, cookies = answer(f"{local[1]}/join/")
        assert status == 200 and cookies and all("Secure" in cookie for cookie in cookies)


def test_half_a_certificate_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", *CERTIFICATE[:2]) as process:
        said = process.output()
        assert "--tls-cert FILE --tls-key FILE" in said and "Traceback" not in said
        assert not (tmp_path / "zookeeper").exists()
