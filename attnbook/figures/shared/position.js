// How positions become vectors: pure functions, in double precision.

const SLOWEST = 10_000; // as in attnbook/position.py

/** The angle by which a pair of components is rotated. @param {number} position @param {number} pair @param {number} size */
export function angle(position, pair, size) {
  return position / SLOWEST ** ((2 * pair) / size);
}

/** A sine and a cosine for each pair; an odd size ends with a sine. @param {number} position @param {number} size */
export function sinusoidal(position, size) {
  return Array.from({ length: size }, (_, i) => {
    const turn = angle(position, Math.floor(i / 2), size);
    return i % 2 ? Math.cos(turn) : Math.sin(turn);
  });
}
