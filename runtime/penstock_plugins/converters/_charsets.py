"""Java's character sets by their names and aliases in Java and Python, with Java's encoding and decoding."""

import codecs
import re
from typing import Final

from penstock import ConfigError, Problem
from penstock_plugins.connect import text as java_text

__all__ = ["Charset"]

_TABLE: Final = """
ascii ascii7 default iso_646.irv:1983 / cp437 ibm-437 windows-437 / cp737 x-ibm737 737 ibm-737 ibm737 / cp775 ibm-775 /
cp850 ibm-850 / cp852 ibm-852 / cp855 cspcp855 ibm-855 / cp857 ibm-857 /
cp858 ibm00858 pc-multilingual-850+euro ccsid00858 cp00858 ibm-858 / cp860 ibm-860 / cp861 ibm-861 /
cp862 csibm862 ibm-862 / cp863 ibm-863 / cp864 ibm-864 / cp865 ibm-865 / cp866 ibm-866 / cp869 ibm-869 /
cp874 x-windows-874 ms-874 ms874 windows-874 / cp1250 cp5346 / cp1251 ansi-1251 cp5347 /
cp1252 cp5348 ibm-1252 ibm1252 / cp1253 cp5349 / cp1254 cp5350 / cp1255 / cp1256 / cp1257 cp5353 / cp1258 /
gb2312 x-euc-cn / iso8859-1 819 8859_1 ibm-819 / iso8859-2 8859_2 912 cp912 ibm-912 ibm912 /
iso8859-3 8859_3 913 cp913 ibm-913 ibm913 / iso8859-4 8859_4 914 cp914 ibm-914 ibm914 /
iso8859-5 8859_5 915 cp915 ibm-915 ibm915 / iso8859-6 1089 8859_6 cp1089 ibm-1089 ibm1089 /
iso8859-7 813 8859_7 cp813 ibm-813 ibm813 sun_eu_greek / iso8859-8 8859_8 916 cp916 ibm-916 ibm916 /
iso8859-9 8859_9 920 cp920 ibm-920 ibm920 / iso8859-11 x-iso-8859-11 /
iso8859-13 8859_13 x-ibm921 921 cp921 ibm-921 ibm921 /
iso8859-15 8859_15 923 ibm-923 ibm923 iso8859_15_fdis latin0 latin-9 cp923 csiso885915 csisolatin0 csisolatin9 /
iso8859-16 csiso885916 / koi8-r koi8 / koi8-u / mac-latin2 x-maccentraleurope / mac-roman x-macroman /
utf-8 unicode-1-1-utf-8 / utf-16 unicodebig unicode / utf-16-be iso-10646-ucs-2 x-utf-16be / utf-16-le x-utf-16le /
utf-32 / utf-32-be x-utf-32be / utf-32-le x-utf-32le /
big5 / cp932 windows-31j cswindows31j windows-932 /
euc_jp extended_unix_code_packed_format_for_japanese cseucpkdfmtjapanese eucjis x-euc-jp x-eucjp /
euc_kr 5601 cseuckr ksc5601-1987 ksc5601_1987 ksc_5601 / gb18030 gb18030-2022 / gbk windows-936 /
iso2022_jp csjisencoding jis jis_encoding / shift_jis ms_kanji x-sjis / tis-620 tis620.2533
"""
"""Python's codecs for Java's character sets, each with the Java names that Python lacks, or uses for a different codec.
Those before big5 map every character and byte as Java does. Those from big5 on differ in a few rare characters, and in the
number of U+FFFD for malformed bytes.
"""
_ROWS: Final = [row.split() for row in _TABLE.split("/")]
_CODECS: Final = frozenset(codec for codec, *_ in _ROWS)
_JAVAS_OWN: Final = {name: codec for codec, *names in _ROWS for name in names}
_OTHERS: Final = frozenset(("932", "cp874", "cp932", "ms936"))
"""Java's names for character sets that Python lacks, and Python's names for similar ones."""
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_MALFORMED: Final = re.compile("[\ud800-\udbff].?|[\udc00-\udfff]", re.DOTALL)


def _replacement(match: re.Match[str]) -> str:
    """Return U+FFFD, twice if needed: Java counts the UTF-16 unit after a lone high surrogate as malformed, too."""
    return "\ufffd" * (2 if match[0][1:] > "\uffff" else 1)


class Charset:
    """Character set that works as in Java: UTF-16 is big-endian with a byte order mark, errors become replacements.

    Attributes:
        codec: name of Python's codec.

    Raises:
        ConfigError: there is no such character set.
    """

    def __init__(self, name: str) -> None:
        low = name.lower()
        try:
            self.codec = _JAVAS_OWN.get(low) or codecs.lookup(low).name
        except (LookupError, ValueError):
            self.codec = ""
        if self.codec not in _CODECS or low in _OTHERS:
            raise ConfigError(Problem("converter.encoding", f"Unsupported encoding {name}"))

    def encode(self, text: str) -> bytes:
        """Return the encoded text. Characters outside the set become `?`; lone surrogates become U+FFFD in UTF-16."""
        if self.codec == "utf-16":
            return b"\xfe\xff" + _SURROGATES.sub("\ufffd", text).encode("utf-16-be") if text else b""
        if self.codec.startswith(("utf-16", "utf-32")):
            text = _SURROGATES.sub("\ufffd", text)
            return text.encode("utf-32-be" if self.codec == "utf-32" else self.codec)
        return text.encode(self.codec, "replace")

    def decode(self, data: bytes) -> str:
        """Return the decoded text. Malformed bytes become U+FFFD."""
        if self.codec == "utf-8":
            return java_text.utf8_text(data)
        if self.codec.startswith("utf-16"):
            codec = self.codec
            if codec == "utf-16":
                codec = "utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be"
                data = data[2:] if data[:2] in (b"\xfe\xff", b"\xff\xfe") else data
            text = data[: len(data) & ~1].decode(codec, "surrogatepass") + ("\ufffd" if len(data) % 2 else "")
            return _MALFORMED.sub(_replacement, text)
        if self.codec == "utf-32" and data[:4] not in (b"\0\0\xfe\xff", b"\xff\xfe\0\0"):
            return data.decode("utf-32-be", "replace")
        return data.decode(self.codec, "replace")
