// Makes documents for the comparison of tokenizers: text of this project and made text of many scripts, with emoji, code,
// runs of white space, numbers, combining marks, added tokens and broken UTF-8. The same seed makes the same documents.
//
//   node documents.mjs TOKENIZER.json PROJECT_FOLDER BYTES OUT
//
// OUT holds, for each document, the number of bytes (uint32, little endian) and the bytes.

import fs from 'node:fs';
import path from 'node:path';

const [tokenizerFile, project, wanted, out] = process.argv.slice(2);

// mulberry32, a small generator of 32 bits.
let state = 2026;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const repeat = (n, make) => Array.from({ length: n }, make).join('');

const sentences = [
  "The quick brown fox jumps over the lazy dog, doesn't it? I'LL say: we've seen it, and they'd know.",
  'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Straße, Fuß, Ärger!',
  "Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis ; l’été, ça va.",
  'El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío. ¿Añoraba a su querido cachorro?',
  'Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul ILIK ılık.',
  'Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń.',
  'Съешь же ещё этих мягких французских булок, да выпей чаю. Щастя, їжак, Ґанок.',
  'Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ἀρχιμήδης ἔφη· εὕρηκα!',
  'דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם',
  'نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. السَّلَامُ عَلَيْكُمْ ٣٤٥',
  'ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले विष्णुवतार। १२३',
  'আমি বাংলায় গান গাই। যাদের হৃদয়ে আছে ক্ষুধা।',
  'யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது எங்கும் காணோம்',
  'เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ๑๒๓',
  'ກວ່າບັນດາຝູງສັດ ကောင်းသောနေ့ ព្រះរាជាណាចក្រកម្ពុជា',
  '我能吞下玻璃而不伤身体。今天是二〇二六年十一月三十日，天气很好！「你好」',
  'いろはにほへと ちりぬるを。カタカナとひらがな、漢字も混ぜて書く。ﾊﾝｶｸ 「テスト」〜',
  '키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. ㅋㅋㅋ',
  'Բարեւ ձեզ, աշխարհ։ გამარჯობა მსოფლიო. ሰላም ልዑል ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ',
  'Tiếng Việt: Do bạch kim rất quý nên sẽ dùng để lắp vô xương. Yorùbá: Ìwò̩fà ń yò̩ séji.',
];

// First and last code points, by script. All characters are in Unicode 14, which PCRE2 10.42 and utf8proc know. The
// library knows Unicode 16, but orders marks as Unicode 9 does, so newer marks are left out.
const blocks = [
  [0x61, 0x7a], [0x41, 0x5a], [0xc0, 0x24f], [0x250, 0x2af], [0x370, 0x3ff], [0x400, 0x52f], [0x531, 0x556], [0x5d0, 0x5ea],
  [0x620, 0x6ff], [0x710, 0x72f], [0x900, 0x97f], [0x980, 0x9fd], [0xa00, 0xa7f], [0xa80, 0xaff], [0xb80, 0xbff], [0xc00, 0xc39], [0xc3d, 0xc7f],
  [0xd00, 0xd3a], [0xd3d, 0xd7f], [0xe01, 0xe5b], [0xe80, 0xeb9], [0xebb, 0xeff], [0xf00, 0xfd4], [0x1000, 0x109f], [0x10a0, 0x10ff], [0x1100, 0x11ff],
  [0x1200, 0x137f], [0x13a0, 0x13ff], [0x1780, 0x17dd], [0x1820, 0x1878], [0x1e00, 0x1fff], [0x2000, 0x206f], [0x2070, 0x218b],
  [0x2190, 0x23ff], [0x2460, 0x27bf], [0x2c00, 0x2cff], [0x3000, 0x303f], [0x3041, 0x30ff], [0x3105, 0x312f], [0x4e00, 0x9fff],
  [0xa000, 0xa48c], [0xac00, 0xd7a3], [0xf900, 0xfaff], [0xfb00, 0xfdff], [0xfe20, 0xffef], [0x10000, 0x100fa],
  [0x10330, 0x1034a], [0x10900, 0x1091f], [0x12000, 0x12399], [0x13000, 0x1342e], [0x1d100, 0x1d1e8], [0x1d400, 0x1d7ff], [0x1f100, 0x1f1ff],
  [0x1f300, 0x1f6d7], [0x1f90c, 0x1fa53], [0x20000, 0x2a6d6], [0x2f800, 0x2fa1d], [0xe0100, 0xe01ef],
];
const inBlock = ([first, last]) => String.fromCodePoint(first + below(last - first + 1));

const emoji = ['😀', '👍🏽', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪🇫🇷', '1️⃣', '❤️', '🫠', '🧑🏿‍🚀', '☺', '™', '©️'];
const spaces = [' ', ' ', ' ', '\n', '\t', '\r\n', '\r', '\u00a0', '\u2003', '\u3000', '\u0085', '\u180e', '\u200b', '\ufeff',
  '\u2028', '\u202f', '\v', '\f', '\u001c', '\0'];
const suffixes = ["'s", "'t", "'re", "'VE", "'m", "'LL", "'d", '’s', "'ſ", "'S", "'"];
const marks = ['\u0301', '\u0323', '\u0308', '\u0327', '\u0338', '\u05bc', '\u093c', '\u3099', '\u0345', '\u0f71', '\u11a8', '\u1161'];
const code = [
  'for (int i = 0; i < n; ++i) {\n\t\tsum += a[i]*b[i]; // dot\n\t}\n', 'def f(x):\n    return {"a": x**2, \'b\': [1, 2, 3]}\n\n\n',
  'SELECT * FROM t WHERE id != 42 AND name LIKE \'%x_\';\n', '<div class="a-b">&nbsp;</div>\n', '#include <vector>\n', '$ ls -la | grep \'^d\'\n',
  '\\frac{\\partial L}{\\partial w_{ij}} \\approx 0.001\n', 'https://example.org/a/b?c=d&e=%20#f ', '--------====++++!!!???...\n', '[^\\s]+(?!x)|`',
];

const addedTokens = JSON.parse(fs.readFileSync(tokenizerFile)).added_tokens.map((token) => token.content);

const makers = [
  () => pick(sentences) + ' ',
  () => pick(sentences).split(' ').slice(below(8)).join(' '),
  () => pick(sentences).toUpperCase(),
  () => pick(sentences).normalize('NFD'),
  () => { const block = pick(blocks); return repeat(1 + below(12), () => inBlock(block)) + (below(3) ? ' ' : ''); },
  () => repeat(1 + below(6), () => inBlock(pick(blocks))),
  () => repeat(1 + below(4), () => pick(emoji)),
  () => repeat(1 + below(6), () => pick(spaces)),
  () => pick([' ', '\n', '\t', '  \n']).repeat(1 + below(40)),
  () => String(Math.floor(10 ** (18 * random()))) + pick(['', '.', ',', ' ', '%', '€', 'e-7']),
  () => repeat(1 + below(5), () => pick(['०', '٣', '๙', '７', '½', '²', 'Ⅷ', '①', '𝟘', '9'])),
  () => repeat(1 + below(6), () => inBlock([0x61, 0x7a])) + pick(suffixes) + pick(['', ' ']),
  () => pick(['a', 'e', 'O', 'ก', '가', 'ᄀ', 'か', 'ا', '<', 'ａ', 'ǘ']) + repeat(1 + below(3), () => pick(marks)),
  () => pick(code),
  () => pick(['a', 'x=', '=', 'é', '漢', '😀', ' a', '!']).repeat(1 + below(300)),
  () => pick(['', ' ', 'x']) + pick(addedTokens) + pick(['', ' ', 'y', '\n']),
  () => pick(addedTokens).slice(0, -1 - below(3)),
];

// Deletes, changes and inserts bytes.
function broken(bytes) {
  const list = [...bytes];
  for (let i = 1 + below(6); i > 0 && list.length > 0; --i) {
    const place = below(list.length);
    const byte = pick([below(256), 0x80 + below(0x80), 0xc0, 0xe2, 0xed, 0xf0, 0xf4, 0xff]);
    list.splice(place, below(2), ...pick([[], [byte], [byte, 0x80 + below(0x40)]]));
  }
  return Buffer.from(list);
}

function projectTexts(folder) {
  const texts = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'build') texts.push(...projectTexts(name));
    if (entry.isFile() && /\.(cpp|h|md|sh|py|txt)$/.test(entry.name)) texts.push(fs.readFileSync(name));
  }
  return texts;
}

const texts = projectTexts(project);
const documents = [];
for (let bytes = 0; bytes < Number(wanted); ) {
  let document;
  if (below(4) === 0) {
    const text = pick(texts);
    const start = below(text.length);
    document = text.subarray(start, start + 1000 + below(15000));
  } else {
    document = Buffer.from(repeat(20 + below(150), () => pick(makers)()));
  }
  if (below(5) === 0) document = broken(document);
  documents.push(document);
  bytes += document.length;
}

const pieces = [];
for (const document of [Buffer.alloc(0), ...documents]) {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(document.length);
  pieces.push(size, document);
}
fs.writeFileSync(out, Buffer.concat(pieces));
