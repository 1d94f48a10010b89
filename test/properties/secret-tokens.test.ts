/** The secrets of access tokens: their form, their randomness, and the detection of typos. */
import fc from 'fast-check';
import t from 'tap';
import { digestOfSecret, idOfSecret, newSecret } from '../../src/identity/secret-token.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = fc.constantFrom('sgt_' as const, 'sgi_' as const);

/** Bytes of the linear congruential generator of Numerical Recipes. */
function seeded(seed: number) {
  let state = seed;
  return {
    bytes: (size: number) =>
      Buffer.from(
        Array.from({ length: size }, () => {
          state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
          return state >>> 24;
        }),
      ),
  };
}

/** CRC-32 of IEEE 802.3, bit by bit. */
function crc32(text: string): number {
  let rest = 0xffff_ffff;
  for (const byte of Buffer.from(text)) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb8_8320 : 0);
  }
  return (rest ^ 0xffff_ffff) >>> 0;
}

function base62(number: number): string {
  return number < 62 ? (BASE62[number] ?? '') : `${base62(Math.floor(number / 62))}${BASE62[number % 62]}`;
}

t.test('D431 a secret ends with the CRC-32 of the text before it, in six characters of base62', async (t) => {
  let shorter = 0;
  fc.assert(
    fc.property(prefix, fc.integer(), (kind, seed) => {
      const { id, text, digest } = newSecret(kind, seeded(seed));
      const sum = base62(crc32(text.slice(0, -6)));
      if (sum.length < 6) shorter += 1;
      return (
        /^sg[it]_[0-9a-z]{8}[0-9A-Za-z]{38}$/.test(text) &&
        text.endsWith(sum.padStart(6, '0')) &&
        idOfSecret(kind, text) === id &&
        idOfSecret(kind === 'sgt_' ? 'sgi_' : 'sgt_', text) === undefined &&
        text.startsWith(`${kind}${id}`) &&
        digest === digestOfSecret(text)
      );
    }),
    { numRuns: 500, seed: 1 },
  );
  t.ok(shorter > 0, 'some checksums have fewer digits');
});

t.test('D434 random text in the form of a secret does not pass the checksum', async (t) => {
  const random = seeded(7);
  const text = () => [...random.bytes(38)].map((byte) => BASE62[byte % 62]).join('');
  const made = Array.from({ length: 10_000 }, () => idOfSecret('sgt_', `sgt_aaaaaaaa${text()}`));
  t.same(new Set(made), new Set([undefined]));
});

t.test('a secret with a wrong character, two swapped characters or another prefix is refused', async () => {
  const character = fc.constantFrom(...BASE62, '_', '-', ' ', 'é');
  fc.assert(
    fc.property(fc.integer(), fc.nat({ max: 49 }), character, (seed, at, wrong) => {
      const { text } = newSecret('sgt_', seeded(seed));
      const mistyped = `${text.slice(0, at)}${wrong}${text.slice(at + 1)}`;
      const [one = '', other = ''] = text.slice(at, at + 2);
      const swapped = `${text.slice(0, at)}${other}${one}${text.slice(at + 2)}`;
      return [mistyped, swapped, `${text}x`, text.slice(0, -1), `sgi_${text.slice(4)}`].every(
        (typed) => typed === text || idOfSecret('sgt_', typed) === undefined,
      );
    }),
    { numRuns: 1_000 },
  );
});

t.test('random bytes that would make some characters more likely than others are skipped', async (t) => {
  const fills = [255, 0, 255, 0].values();
  const random = { bytes: (size: number) => Buffer.alloc(size, fills.next().value) };
  t.match(newSecret('sgt_', random).text, /^sgt_0{40}/);
  t.equal(256 % 62, 8, 'bytes from 248 on are skipped');
  const counts = new Map<string, number>();
  for (let byte = 0; byte < 248; byte += 1) {
    const { text } = newSecret('sgt_', { bytes: (size) => Buffer.alloc(size, byte) }, 'aaaaaaaa');
    counts.set(text[12] ?? '', (counts.get(text[12] ?? '') ?? 0) + 1);
  }
  t.same([...new Set(counts.values())], [4]);
  t.equal(counts.size, 62);
});
