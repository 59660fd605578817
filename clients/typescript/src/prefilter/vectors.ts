/** Cosines of embeddings. */

/** A vector scaled to length 1; a zero vector becomes NaN, as it has no direction. */
export function unit(vector: readonly number[]): Float64Array {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const scaled = Float64Array.from(vector, (value) => value / largest); // first: squares cannot overflow
  const length = Math.sqrt(dot(scaled, scaled));
  return scaled.map((value) => value / length);
}

export function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}
