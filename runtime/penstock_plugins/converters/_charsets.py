"""Java's character sets by all of their names and aliases, with Java's encoding and decoding."""

import re
from collections.abc import Mapping
from typing import Final

from penstock import ConfigError, Problem
from penstock_plugins.connect import text as java_text

__all__ = ["Charset"]

_IDENTICAL: Final[Mapping[str, str]] = {
    "gb2312": "gb2312 euc_cn euc-cn euccn gb2312-1980 gb2312-80 x-euc-cn",
    "cp858": "ibm00858 858 pc-multilingual-850+euro ccsid00858 cp00858 cp858 ibm-858 ibm858",
    "cp437": "ibm437 437 cp437 cspc8codepage437 ibm-437 windows-437",
    "cp775": "ibm775 775 cp775 ibm-775",
    "cp850": "ibm850 850 cp850 cspc850multilingual ibm-850",
    "cp852": "ibm852 852 cp852 cspcp852 ibm-852",
    "cp855": "ibm855 855 cp855 cspcp855 ibm-855",
    "cp857": "ibm857 857 cp857 csibm857 ibm-857",
    "cp860": "ibm860 860 cp860 csibm860 ibm-860",
    "cp861": "ibm861 861 cp-is cp861 csibm861 ibm-861",
    "cp862": "ibm862 862 cp862 csibm862 cspc862latinhebrew ibm-862",
    "cp863": "ibm863 863 cp863 csibm863 ibm-863",
    "cp864": "ibm864 864 cp864 csibm864 ibm-864",
    "cp865": "ibm865 865 cp865 csibm865 ibm-865",
    "cp866": "ibm866 866 cp866 csibm866 ibm-866",
    "cp869": "ibm869 869 cp-gr cp869 csibm869 ibm-869",
    "latin-1": "iso-8859-1 819 8859_1 ibm-819 ibm819 iso8859-1 iso8859_1 iso_8859-1 iso_8859-1:1987 iso_8859_1 "
    "cp819 csisolatin1 iso-ir-100 l1 latin1",
    "iso8859-13": "iso-8859-13 8859_13 iso8859-13 iso8859_13 iso_8859-13 x-ibm921 921 cp921 ibm-921 ibm921",
    "iso8859-15": "iso-8859-15 8859_15 923 ibm-923 ibm923 iso8859-15 iso8859_15 iso8859_15_fdis iso_8859-15 l9 "
    "latin0 latin9 latin-9 cp923 csiso885915 csisolatin0 csisolatin9",
    "iso8859-16": "iso-8859-16 iso8859_16 iso_8859-16 iso_8859-16:2001 csiso885916 iso-ir-226 l10 latin10",
    "iso8859-2": "iso-8859-2 8859_2 912 iso8859-2 iso_8859-2 iso_8859-2:1987 cp912 csisolatin2 ibm-912 ibm912 "
    "iso-ir-101 iso8859_2 l2 latin2",
    "iso8859-3": "iso-8859-3 8859_3 913 iso8859-3 iso_8859-3 iso_8859-3:1988 cp913 csisolatin3 ibm-913 ibm913 "
    "iso-ir-109 iso8859_3 l3 latin3",
    "iso8859-4": "iso-8859-4 8859_4 914 iso_8859-4 iso_8859-4:1988 cp914 csisolatin4 ibm-914 ibm914 iso-ir-110 "
    "iso8859-4 iso8859_4 l4 latin4",
    "iso8859-5": "iso-8859-5 8859_5 915 iso8859-5 iso_8859-5 iso_8859-5:1988 cp915 csisolatincyrillic cyrillic "
    "ibm-915 ibm915 iso-ir-144 iso8859_5",
    "iso8859-6": "iso-8859-6 1089 8859_6 asmo-708 ecma-114 iso8859-6 iso_8859-6 iso_8859-6:1987 arabic cp1089 "
    "csisolatinarabic ibm-1089 ibm1089 iso-ir-127 iso8859_6",
    "iso8859-7": "iso-8859-7 813 8859_7 ecma-118 elot_928 iso_8859-7 iso_8859-7:1987 cp813 csisolatingreek greek "
    "greek8 ibm-813 ibm813 iso-ir-126 iso8859-7 iso8859_7 sun_eu_greek",
    "iso8859-8": "iso-8859-8 8859_8 916 iso8859-8 iso_8859-8 iso_8859-8:1988 cp916 csisolatinhebrew hebrew "
    "ibm-916 ibm916 iso-ir-138 iso8859_8",
    "iso8859-9": "iso-8859-9 8859_9 920 iso8859-9 iso_8859-9 iso_8859-9:1989 cp920 csisolatin5 ibm-920 ibm920 "
    "iso-ir-148 iso8859_9 l5 latin5",
    "koi8_r": "koi8-r cskoi8r koi8 koi8_r",
    "koi8_u": "koi8-u koi8_u",
    "ascii": "us-ascii 646 ansi_x3.4-1968 ansi_x3.4-1986 ascii ibm367 iso646-us iso_646.irv:1991 ascii7 cp367 "
    "csascii default iso-ir-6 iso_646.irv:1983 us",
    "utf-16": "utf-16 utf_16 unicodebig unicode utf16",
    "utf-16-be": "utf-16be iso-10646-ucs-2 utf_16be unicodebigunmarked x-utf-16be",
    "utf-16-le": "utf-16le utf_16le unicodelittleunmarked x-utf-16le",
    "utf-32": "utf-32 utf32 utf_32",
    "utf-32-be": "utf-32be utf_32be x-utf-32be",
    "utf-32-le": "utf-32le utf_32le x-utf-32le",
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
    "cp1250": "windows-1250 cp1250 cp5346",
    "cp1251": "windows-1251 ansi-1251 cp1251 cp5347",
    "cp1252": "windows-1252 cp1252 cp5348 ibm-1252 ibm1252",
    "cp1253": "windows-1253 cp1253 cp5349",
    "cp1254": "windows-1254 cp1254 cp5350",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257 cp5353",
    "cp1258": "windows-1258 cp1258",
    "cp737": "x-ibm737 737 cp737 ibm-737 ibm737",
    "iso8859-11": "x-iso-8859-11 iso-8859-11 iso8859_11",
    "mac_latin2": "x-maccentraleurope maccentraleurope",
    "mac_roman": "x-macroman macroman",
    "cp874": "x-windows-874 ms-874 ms874 windows-874",
}
"""Python's codecs that map every character and byte as Java does, with Java's names."""

_NEARLY_IDENTICAL: Final[Mapping[str, str]] = {
    "big5": "big5 csbig5",
    "euc_jp": "euc-jp extended_unix_code_packed_format_for_japanese cseucpkdfmtjapanese euc_jp eucjis eucjp "
    "x-euc-jp x-eucjp",
    "euc_kr": "euc-kr 5601 cseuckr euc_kr euckr ks_c_5601-1987 ksc5601 ksc5601-1987 ksc5601_1987 ksc_5601",
    "gb18030": "gb18030 gb18030-2022",
    "gbk": "gbk cp936 windows-936",
    "iso2022_jp": "iso-2022-jp csiso2022jp csjisencoding iso2022jp jis jis_encoding",
    "shift_jis": "shift_jis csshiftjis ms_kanji shift-jis sjis x-sjis",
    "tis_620": "tis-620 tis620 tis620.2533",
    "cp932": "windows-31j ms932 cswindows31j windows-932",
}
"""Codecs that differ from Java's in a few rare characters, and in how many malformed bytes become one U+FFFD."""

_CODECS: Final = {
    name: codec for table in (_IDENTICAL, _NEARLY_IDENTICAL) for codec, names in table.items() for name in names.split()
}
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_MALFORMED: Final = re.compile("[\ud800-\udbff].?|[\udc00-\udfff]", re.DOTALL)


def _replacement(match: re.Match[str]) -> str:
    """Java counts the UTF-16 unit after a lone high surrogate as part of the malformed character."""
    return "\ufffd" * (2 if match[0][1:] > "\uffff" else 1)


class Charset:
    """A character set that works as in Java: UTF-16 is big-endian with a byte order mark, errors become replacements.

    Attributes:
        codec: the name of Python's codec.

    Raises:
        ConfigError: there is no such character set.
    """

    def __init__(self, name: str) -> None:
        codec = _CODECS.get(name.lower())
        if codec is None:
            raise ConfigError(Problem("converter.encoding", f"Unsupported encoding {name}"))
        self.codec = codec

    def encode(self, text: str) -> bytes:
        """The bytes of a text. Characters that are not in the set become `?`; lone surrogates become U+FFFD in UTF-16."""
        if self.codec == "utf-16":
            return b"\xfe\xff" + _SURROGATES.sub("\ufffd", text).encode("utf-16-be") if text else b""
        if self.codec.startswith(("utf-16", "utf-32")):
            text = _SURROGATES.sub("\ufffd", text)
            return text.encode("utf-32-be" if self.codec == "utf-32" else self.codec)
        return text.encode(self.codec, "replace")

    def decode(self, data: bytes) -> str:
        """The text of bytes. Malformed bytes become U+FFFD."""
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
