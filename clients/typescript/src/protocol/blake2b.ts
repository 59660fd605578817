/**
 * BLAKE2b (RFC 7693), unkeyed, of any digest length: Node's own gives 64 bytes alone, and a shorter digest is no
 * part of a longer one. For names of users and sessions: a few hundred bytes, now and then.
 */

const MASK = (1n << 64n) - 1n;
const BLOCK_BYTES = 128;
const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => Array.from(row, (digit) => Number.parseInt(digit, 16)));
const COLUMNS_AND_DIAGONALS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
] as const;
const ROUNDS = 12;

/** The digest in hexadecimal. */
export function blake2b(text: string, digestBytes: number): string {
  const input = Buffer.from(text);
  const state = BigUint64Array.from(IV);
  state[0] = (IV[0] as bigint) ^ 0x01010000n ^ BigInt(digestBytes);
  const blocks = Math.max(Math.ceil(input.length / BLOCK_BYTES), 1);
  for (let at = 0; at < blocks; at += 1) {
    const block = Buffer.alloc(BLOCK_BYTES);
    input.copy(block, 0, at * BLOCK_BYTES);
    const isLast = at === blocks - 1;
    compress(state, block, isLast ? input.length : (at + 1) * BLOCK_BYTES, isLast);
  }
  return Buffer.from(state.buffer).toString("hex", 0, digestBytes); // little-endian, as every machine of ours
}

function compress(state: BigUint64Array, block: Buffer, bytes: number, isLast: boolean): void {
  const message = Array.from({ length: 16 }, (_, at) => block.readBigUInt64LE(at * 8));
  const work = [...state, ...IV];
  work[12] = (work[12] as bigint) ^ BigInt(bytes);
  if (isLast) work[14] = (work[14] as bigint) ^ MASK;
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = SIGMA[round % SIGMA.length] as number[];
    COLUMNS_AND_DIAGONALS.forEach((places, at) => {
      const [x, y] = [message[order[2 * at] as number], message[order[2 * at + 1] as number]];
      mix(work, places, x as bigint, y as bigint);
    });
  }
  for (let at = 0; at < 8; at += 1) {
    state[at] = (state[at] as bigint) ^ (work[at] as bigint) ^ (work[at + 8] as bigint);
  }
}

function mix(work: bigint[], places: readonly [number, number, number, number], x: bigint, y: bigint): void {
  let [a, b, c, d] = places.map((at) => work[at]) as [bigint, bigint, bigint, bigint];
  a = (a + b + x) & MASK;
  d = rotated(d ^ a, 32n);
  c = (c + d) & MASK;
  b = rotated(b ^ c, 24n);
  a = (a + b + y) & MASK;
  d = rotated(d ^ a, 16n);
  c = (c + d) & MASK;
  b = rotated(b ^ c, 63n);
  [a, b, c, d].forEach((value, at) => {
    work[places[at] as number] = value;
  });
}

function rotated(word: bigint, bits: bigint): bigint {
  return (word >> bits) | ((word << (64n - bits)) & MASK);
}
