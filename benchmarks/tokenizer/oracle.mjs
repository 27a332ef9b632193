// Encodes documents with Hugging Face's tokenizers (the Rust library, by npm's @anush008/tokenizers) and compares the ids
// with those of tokenizer_benchmark. Exit code 1 if any differs.
//
//   node oracle.mjs TOKENIZER.json DOCUMENTS IDS ROUNDS
//
// Prints the number of tokens on stdout, then the seconds of each round, one on a line. Differences go to stderr.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(process.cwd() + '/');
const { Tokenizer } = require('@anush008/tokenizers');
const [tokenizerFile, documentsFile, idsFile, rounds] = process.argv.slice(2);

// The documents as text. Broken UTF-8 becomes U+FFFD, as toString does it.
function readDocuments() {
  const bytes = fs.readFileSync(documentsFile);
  const documents = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32LE(at);
    documents.push(bytes.toString('utf8', at + 4, at + 4 + size));
    at += 4 + size;
  }
  return documents;
}

function readIds() {
  const bytes = fs.readFileSync(idsFile);
  const lists = [];
  for (let at = 0; at < bytes.length; ) {
    const count = bytes.readUInt32LE(at);
    at += 4;
    lists.push(Array.from({ length: count }, (_, i) => bytes.readInt32LE(at + 4 * i)));
    at += 4 * count;
  }
  return lists;
}

const tokenizer = Tokenizer.fromFile(tokenizerFile);
const documents = readDocuments();
const seconds = [];
let encodings;
for (let round = 0; round < Number(rounds); ++round) {
  encodings = [];
  const start = process.hrtime.bigint();
  for (const document of documents) encodings.push(await tokenizer.encode(document));
  seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
}

const ours = readIds();
let tokens = 0;
let wrong = 0;
if (ours.length !== documents.length) throw new Error(`${ours.length} lists of ids for ${documents.length} documents`);
for (let i = 0; i < documents.length; ++i) {
  const theirs = encodings[i].getIds();
  tokens += theirs.length;
  const at = theirs.findIndex((id, k) => id !== ours[i][k]);
  if (at < 0 && ours[i].length === theirs.length) continue;
  if (++wrong > 5) continue;
  const [from, to] = [Math.max(0, at - 3), at + 5];
  const shown = (ids) => JSON.stringify(ids.slice(from, to).map((id) => tokenizer.idToToken(id)));
  console.error(`document ${i}, token ${at}: ours ${shown(ours[i])}, theirs ${shown(theirs)}`);
}
console.log([tokens, ...seconds].join('\n'));
if (wrong > 0) console.error(`${wrong} of ${documents.length} documents differ`);
process.exit(wrong === 0 ? 0 : 1);
