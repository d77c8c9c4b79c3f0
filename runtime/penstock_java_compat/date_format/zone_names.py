"""English names of time zones, in the order in which Java 17 searches them.

One zone per line: the name of its rules (`GMT-8` if the offset is fixed), the minutes that summer time adds today, the long
and the short name, then both for summer. A zone is left out if all its names begin with names of zones above. From Java
17.0.15, locale en_US (`DateFormatSymbols.getZoneStrings`).
"""

from typing import Final

__all__ = ["ZONES"]

ZONES: Final = """
America/Los_Angeles|60|Pacific Standard Time|PST|Pacific Daylight Time|PDT
America/Denver|60|Mountain Standard Time|MST|Mountain Daylight Time|MDT
America/Chicago|60|Central Standard Time|CST|Central Daylight Time|CDT
America/New_York|60|Eastern Standard Time|EST|Eastern Daylight Time|EDT
Pacific/Honolulu|0|Hawaii-Aleutian Standard Time|HST|Hawaii-Aleutian Daylight Time|HDT
America/Anchorage|60|Alaska Standard Time|AKST|Alaska Daylight Time|AKDT
America/Halifax|60|Atlantic Standard Time|AST|Atlantic Daylight Time|ADT
America/St_Johns|60|Newfoundland Standard Time|NST|Newfoundland Daylight Time|NDT
Europe/Paris|60|Central European Standard Time|CET|Central European Summer Time|CEST
GMT|0|Greenwich Mean Time|GMT|Greenwich Mean Time|GMT
Asia/Jerusalem|60|Israel Standard Time|IST|Israel Daylight Time|IDT
Asia/Tokyo|0|Japan Standard Time|JST|Japan Daylight Time|JDT
Europe/Bucharest|60|Eastern European Standard Time|EET|Eastern European Summer Time|EEST
Asia/Shanghai|0|China Standard Time|CST|China Daylight Time|CDT
UTC|0|Coordinated Universal Time|UTC|Coordinated Universal Time|UTC
Australia/Darwin|0|Australian Central Standard Time|ACST|Australian Central Daylight Time|ACDT
Australia/Sydney|60|Australian Eastern Standard Time|AEST|Australian Eastern Daylight Time|AEDT
America/Sao_Paulo|0|Brasilia Standard Time|BRT|Brasilia Summer Time|BRST
Asia/Dhaka|0|Bangladesh Standard Time|BDT|Bangladesh Summer Time|BDST
Africa/Maputo|0|Central Africa Time|CAT|Central African Summer Time|CAST
Africa/Nairobi|0|East Africa Time|EAT|Eastern African Summer Time|EAST
Pacific/Apia|0|Apia Standard Time|WSST|Apia Daylight Time|WSDT
Asia/Yerevan|0|Armenia Standard Time|AMT|Armenia Summer Time|AMST
Pacific/Auckland|60|New Zealand Standard Time|NZST|New Zealand Daylight Time|NZDT
Asia/Karachi|0|Pakistan Standard Time|PKT|Pakistan Summer Time|PKST
Pacific/Guadalcanal|0|Solomon Islands Time|SBT|Solomon Is. Summer Time|SBST
Asia/Aden|0|Arabian Standard Time|AST|Arabian Daylight Time|ADT
Asia/Baku|0|Azerbaijan Standard Time|AZT|Azerbaijan Summer Time|AZST
Asia/Dili|0|East Timor Time|TLT|Timor-Leste Summer Time|TLST
Asia/Hovd|0|Hovd Standard Time|HOVT|Hovd Summer Time|HOVST
Asia/Omsk|0|Omsk Standard Time|OMST|Omsk Summer Time|OMSST
Asia/Oral|0|West Kazakhstan Time|ORAT|Oral Summer Time|ORAST
Asia/Aqtau|0|West Kazakhstan Time|AQTT|Aqtau Summer Time|AQTST
Asia/Chita|0|Yakutsk Standard Time|YAKT|Yakutsk Summer Time|YAKST
Asia/Dubai|0|Gulf Standard Time|GST|Gulf Daylight Time|GDT
Asia/Kabul|0|Afghanistan Time|AFT|Afghanistan Summer Time|AFST
Asia/Seoul|0|Korean Standard Time|KST|Korean Daylight Time|KDT
Asia/Almaty|0|East Kazakhstan Time|ALMT|Alma-Ata Summer Time|ALMST
Asia/Anadyr|0|Anadyr Standard Time|ANAT|Anadyr Summer Time|ANAST
Asia/Aqtobe|0|West Kazakhstan Time|AQTT|Aqtobe Summer Time|AQTST
Asia/Atyrau|0|West Kazakhstan Time|GMT+05:00|Atyrau Daylight Time|GMT+05:00
Asia/Brunei|0|Brunei Darussalam Time|BNT|Brunei Summer Time|BNST
Asia/Manila|0|Philippine Standard Time|PST|Philippine Summer Time|PDT
Asia/Ho_Chi_Minh|0|Indochina Time|ICT|Indochina Summer Time|ICST
Asia/Taipei|0|Taipei Standard Time|CST|Taipei Daylight Time|CDT
Asia/Tehran|0|Iran Standard Time|IRST|Iran Daylight Time|IRDT
Indian/Mahe|0|Seychelles Time|SCT|Seychelles Summer Time|SCST
Pacific/Port_Moresby|0|Chuuk Time|CHUT|Chuuk Summer Time|CHUST
Africa/Accra|0|Greenwich Mean Time|GMT|Ghana Summer Time|GHST
Africa/Lagos|0|West Africa Standard Time|WAT|West Africa Summer Time|WAST
America/Adak|60|Hawaii-Aleutian Standard Time|HAST|Hawaii-Aleutian Daylight Time|HADT
America/Lima|0|Peru Standard Time|PET|Peru Summer Time|PEST
Asia/Bishkek|0|Kyrgyzstan Time|KGT|Kirgizstan Summer Time|KGST
Asia/Colombo|0|India Standard Time|IST|India Daylight Time|IDT
Asia/Irkutsk|0|Irkutsk Standard Time|IRKT|Irkutsk Summer Time|IRKST
Asia/Jakarta|0|Western Indonesia Time|WIB|West Indonesia Summer Time|WIST
Asia/Kuching|0|Malaysia Time|MYT|Malaysia Summer Time|MYST
Asia/Magadan|0|Magadan Standard Time|MAGT|Magadan Summer Time|MAGST
Asia/Yangon|0|Myanmar Time|MMT|Myanmar Summer Time|MMST
Asia/Tbilisi|0|Georgia Standard Time|GET|Georgia Summer Time|GEST
Asia/Thimphu|0|Bhutan Time|BTT|Bhutan Summer Time|BTST
Europe/Minsk|0|Moscow Standard Time|MSK|Moscow Summer Time|MSD
Indian/Cocos|0|Cocos Islands Time|CCT|Cocos Islands Summer Time|CCST
Pacific/Fiji|0|Fiji Standard Time|FJT|Fiji Summer Time|FJST
Pacific/Guam|0|Chamorro Standard Time|ChST|Chamorro Daylight Time|ChDT
Pacific/Niue|0|Niue Time|NUT|Niue Summer Time|NUST
Pacific/Wake|0|Wake Island Time|WAKT|Wake Summer Time|WAKST
GMT-8|0|Pitcairn Time|PST|Pitcairn Time|PST
GMT-9|0|Gambier Time|AKST|Gambier Time|AKST
Africa/Maseru|0|South Africa Standard Time|SAST|South Africa Summer Time|SAST
America/Argentina/Jujuy|0|Argentina Standard Time|ART|Argentina Summer Time|ARST
Asia/Ashgabat|0|Turkmenistan Standard Time|TMT|Turkmenistan Summer Time|TMST
Asia/Dushanbe|0|Tajikistan Time|TJT|Tajikistan Summer Time|TJST
Asia/Jayapura|0|Eastern Indonesia Time|WIT|East Indonesia Summer Time|EIST
Asia/Kathmandu|0|Nepal Time|NPT|Nepal Summer Time|NPST
Asia/Makassar|0|Central Indonesia Time|WITA|Central Indonesia Summer Time|CIST
Asia/Qostanay|0|East Kazakhstan Time|QOST|Kostanay Summer Time|QOSST
Asia/Sakhalin|0|Sakhalin Standard Time|SAKT|Sakhalin Summer Time|SAKST
Asia/Tashkent|0|Uzbekistan Standard Time|UZT|Uzbekistan Summer Time|UZST
Asia/Ust-Nera|0|Vladivostok Standard Time|VLAT|Vladivostok Summer Time|VLAST
Europe/Dublin|60|Greenwich Mean Time|GMT|Irish Standard Time|IST
Europe/Jersey|60|Greenwich Mean Time|GMT|British Summer Time|BST
Europe/Lisbon|60|Western European Standard Time|WET|Western European Summer Time|WEST
Europe/Samara|0|Samara Standard Time|SAMT|Samara Summer Time|SAMST
Indian/Chagos|0|Indian Ocean Time|IOT|Indian Ocean Territory Summer Time|IOST
Pacific/Efate|0|Vanuatu Standard Time|VUT|Vanuatu Summer Time|VUST
Pacific/Nauru|0|Nauru Time|NRT|Nauru Summer Time|NRST
Pacific/Palau|0|Palau Time|PWT|Palau Summer Time|PWST
America/Bogota|0|Colombia Standard Time|COT|Colombia Summer Time|COST
America/Cuiaba|0|Amazon Standard Time|AMT|Amazon Summer Time|AMST
America/Guyana|0|Guyana Time|GYT|Guyana Summer Time|GYST
America/Havana|60|Cuba Standard Time|CST|Cuba Daylight Time|CDT
America/La_Paz|0|Bolivia Time|BOT|Bolivia Summer Time|BOST
Asia/Hong_Kong|0|Hong Kong Standard Time|HKT|Hong Kong Summer Time|HKST
Asia/Qyzylorda|0|West Kazakhstan Time|QYZT|Qyzylorda Summer Time|QYZST
Asia/Singapore|0|Singapore Standard Time|SGT|Singapore Summer Time|SGST
Indian/Reunion|0|Réunion Time|RET|Reunion Summer Time|REST
Pacific/Easter|60|Easter Island Standard Time|EAST|Easter Island Summer Time|EASST
Pacific/Kosrae|0|Kosrae Time|KOST|Kosrae Summer Time|KOSST
Pacific/Majuro|0|Marshall Islands Time|MHT|Marshall Islands Summer Time|MHST
Pacific/Midway|0|Samoa Standard Time|SST|Samoa Daylight Time|SDT
Pacific/Noumea|0|New Caledonia Standard Time|NCT|New Caledonia Summer Time|NCST
Pacific/Guadalcanal|0|Ponape Time|PONT|Pohnpei Summer Time|PONST
Pacific/Tahiti|0|Tahiti Time|TAHT|Tahiti Summer Time|TAHST
Pacific/Tarawa|0|Gilbert Islands Time|GILT|Gilbert Is. Summer Time|GILST
Pacific/Wallis|0|Wallis & Futuna Time|WFT|Wallis & Futuna Summer Time|WFST
America/Caracas|0|Venezuela Time|VET|Venezuela Summer Time|VEST
America/Cayenne|0|French Guiana Time|GFT|French Guiana Summer Time|GFST
America/Nuuk|60|West Greenland Standard Time|WGT|West Greenland Summer Time|WGST
America/Noronha|0|Fernando de Noronha Standard Time|FNT|Fernando de Noronha Summer Time|FNST
Asia/Ulaanbaatar|0|Ulaanbaatar Standard Time|CHOT|Ulaanbaatar Summer Time|CHOST
Atlantic/Azores|60|Azores Standard Time|AZOT|Azores Summer Time|AZOST
Australia/Eucla|0|Australian Central Western Standard Time|ACWST|Australian Central Western Daylight Time|ACWDT
Australia/Perth|0|Australian Western Standard Time|AWST|Australian Western Daylight Time|AWDT
Indian/Maldives|0|Maldives Time|MVT|Maldives Summer Time|MVST
Pacific/Chatham|60|Chatham Standard Time|CHAST|Chatham Daylight Time|CHADT
Pacific/Fakaofo|0|Tokelau Time|TKT|Tokelau Summer Time|TKST
Pacific/Gambier|0|Gambier Time|GAMT|Gambier Summer Time|GAMST
Pacific/Norfolk|60|Norfolk Island Standard Time|NFT|Norfolk Island Daylight Time|NFST
America/Asuncion|0|Paraguay Standard Time|PYT|Paraguay Summer Time|PYST
America/Eirunepe|0|Acre Standard Time|ACT|Acre Summer Time|ACST
America/Mazatlan|0|Mexican Pacific Standard Time|MST|Mexican Pacific Daylight Time|MDT
America/Miquelon|60|St. Pierre & Miquelon Standard Time|PMST|St. Pierre & Miquelon Daylight Time|PMDT
America/Santiago|60|Chile Standard Time|CLT|Chile Summer Time|CLST
Antarctica/Casey|0|Casey Time|AWST|Australian Western Daylight Time|AWDT
Antarctica/Davis|0|Davis Time|DAVT|Davis Summer Time|DAVST
Antarctica/Syowa|0|Syowa Time|SYOT|Syowa Summer Time|SYOST
Asia/Krasnoyarsk|0|Krasnoyarsk Standard Time|KRAT|Krasnoyarsk Summer Time|KRAST
Asia/Novosibirsk|0|Novosibirsk Standard Time|NOVT|Novosibirsk Summer Time|NOVST
Asia/Ulaanbaatar|0|Ulaanbaatar Standard Time|ULAT|Ulaanbaatar Summer Time|ULAST
Atlantic/Stanley|0|Falkland Islands Standard Time|FKT|Falkland Islands Summer Time|FKST
Europe/Volgograd|0|Volgograd Standard Time|MSK|Volgograd Summer Time|MSD
Indian/Christmas|0|Christmas Island Time|CXT|Christmas Island Summer Time|CXST
Indian/Kerguelen|0|French Southern & Antarctic Time|TFT|French Southern & Antarctic Lands Summer Time|TFST
Indian/Mauritius|0|Mauritius Standard Time|MUT|Mauritius Summer Time|MUST
Pacific/Funafuti|0|Tuvalu Time|TVT|Tuvalu Summer Time|TVST
Pacific/Pitcairn|0|Pitcairn Time|PST|Pitcairn Daylight Time|PDT
America/Guayaquil|0|Ecuador Time|ECT|Ecuador Summer Time|ECST
Antarctica/Mawson|0|Mawson Time|MAWT|Mawson Summer Time|MAWST
Antarctica/Vostok|0|Vostok Time|VOST|Vostok Summer Time|VOSST
Pacific/Kanton|0|Phoenix Islands Time|PHOT|Phoenix Is. Summer Time|PHOST
Pacific/Galapagos|0|Galapagos Time|GALT|Galapagos Summer Time|GALST
Pacific/Marquesas|0|Marquesas Time|MART|Marquesas Summer Time|MARST
Pacific/Rarotonga|0|Cook Islands Standard Time|CKT|Cook Islands Half Summer Time|CKHST
Pacific/Tongatapu|0|Tonga Standard Time|TOT|Tonga Summer Time|TOST
America/Montevideo|0|Uruguay Standard Time|UYT|Uruguay Summer Time|UYST
America/Paramaribo|0|Suriname Time|SRT|Suriname Summer Time|SRST
Antarctica/Rothera|0|Rothera Time|ROTT|Rothera Summer Time|ROTST
Asia/Yekaterinburg|0|Yekaterinburg Standard Time|YEKT|Yekaterinburg Summer Time|YEKST
Pacific/Kiritimati|0|Line Islands Time|LINT|Line Is. Summer Time|LINST
Atlantic/Cape_Verde|0|Cape Verde Standard Time|CVT|Cape Verde Summer Time|CVST
Australia/Lord_Howe|30|Lord Howe Standard Time|LHST|Lord Howe Daylight Time|LHDT
America/Tijuana|60|Northwest Mexico Standard Time|PST|Northwest Mexico Daylight Time|PDT
America/Scoresbysund|60|East Greenland Standard Time|EGT|East Greenland Summer Time|EGST
Pacific/Port_Moresby|0|Papua New Guinea Time|PGT|Papua New Guinea Summer Time|PGST
Atlantic/South_Georgia|0|South Georgia Time|GST|South Georgia Daylight Time|GDT
Antarctica/DumontDUrville|0|Dumont-d’Urville Time|DDUT|Dumont-d'Urville Summer Time|DDUST
Asia/Urumqi|0|Xinjiang Standard Time|XJT|Xinjiang Daylight Time|XJDT
Europe/Brussels|60|Central European Time|CET|Central European Summer Time|CEST
Europe/Istanbul|0|Turkey Time|TRT|Turkey Summer Time|TRST
Asia/Tomsk|0|Tomsk Standard Time|GMT+07:00|Tomsk Daylight Time|GMT+07:00
GMT-10|0|Hawaii Standard Time|HST|Hawaii Standard Time|HST
Europe/Saratov|0|Saratov Standard Time|GMT+04:00|Saratov Standard Time|GMT+04:00
America/Argentina/Buenos_Aires|0|Argentine Time|ART|Argentine Summer Time|ARST
Pacific/Bougainville|0|Bougainville Standard Time|BST|Bougainville Daylight Time|BST
Asia/Barnaul|0|Barnaul Standard Time|GMT+07:00|Barnaul Daylight Time|GMT+07:00
Europe/Brussels|60|Middle Europe Time|MET|Middle Europe Summer Time|MEST
Antarctica/Palmer|0|Chile Time|CLT|Chile Summer Time|CLST
America/Punta_Arenas|0|Punta Arenas Standard Time|GMT-03:00|Punta Arenas Standard Time|GMT-03:00
Europe/Kirov|0|Moscow Standard Time|MSK|Moscow Daylight Time|MSD
Pacific/Kanton|0|Kanton Standard Time|GMT+13:00|Kanton Daylight Time|GMT+13:00
Europe/Ulyanovsk|0|Ulyanovsk Standard Time|GMT+04:00|Ulyanovsk Standard Time|GMT+04:00
Asia/Srednekolymsk|0|Srednekolymsk Time|SRET|Srednekolymsk Daylight Time|SREDT
"""  # noqa: RUF001 (as Java spells them)
