// Unpacks weights from Python, and computes with them: pure functions, in double precision.

/** A number of 16 bits: a sign, five bits of an exponent, ten of a fraction; all are finite. @param {number} bits */
function halfFloat(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return exponent ? sign * (1 + fraction / 1024) * 2 ** (exponent - 15) : sign * fraction * 2 ** -24;
}

/** Decode base64 of float32 or float16 numbers, little endian, as on every machine with a browser. @param {string} packed @param {"float32" | "float16"} dtype */
function floats(packed, dtype) {
  const letters = atob(packed);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return dtype === "float32"
    ? new Float32Array(bytes.buffer)
    : Float32Array.from(new Uint16Array(bytes.buffer), halfFloat);
}

/** Each array under its name. @param {[name: string, shape: number[]][]} arrays @param {string} data their rows one after the other @param {"float32" | "float16"} dtype */
export function unpacked(arrays, data, dtype = "float32") {
  const all = floats(data, dtype);
  /** @type {Record<string, Float32Array>} */
  const unpackedArrays = {};
  let start = 0;
  for (const [name, shape] of arrays) {
    const end = start + shape.reduce((a, b) => a * b, 1);
    unpackedArrays[name] = all.subarray(start, end);
    start = end;
  }
  if (start !== all.length) throw new Error(`the weights must be ${start} numbers, got ${all.length}`);
  return unpackedArrays;
}

/** A matrix, its rows one after the other, times a vector. @param {Float32Array} matrix @param {number[]} vector */
export function times(matrix, vector) {
  const size = vector.length;
  return Array.from({ length: matrix.length / size }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < size; i += 1) sum += matrix[row * size + i] * vector[i];
    return sum;
  });
}

/** @param {number[]} a @param {ArrayLike<number>} b */
export const plus = (a, b) => a.map((number, i) => number + b[i]);
