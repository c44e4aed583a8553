// The curve of Nostr's keys: public keys, shared secrets and signatures (BIP-340). It serves only the session key of a
// remote signer, which is made here and signs only requests; a person's own key never reaches this page. It is not
// constant-time, so do not use it for anything else.

const p = 2n ** 256n - 0x1000003d1n
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const generator = [
  0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
]

export const hex = bytes => [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("")
export const bytes = text => Uint8Array.from(text.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
export const join = (...parts) => Uint8Array.from(parts.flatMap(part => [...part]))
export const sha256 = async data => new Uint8Array(await crypto.subtle.digest("SHA-256", data))

const number = data => BigInt(`0x${hex(data)}`)
const encoded = value => bytes(value.toString(16).padStart(64, "0"))
const mod = (value, modulus) => ((value % modulus) + modulus) % modulus

const power = (base, exponent) => {
  let result = 1n
  for (let factor = mod(base, p), left = exponent; left > 0n; left >>= 1n, factor = (factor * factor) % p) {
    if (left & 1n) result = (result * factor) % p
  }
  return result
}

// Points are [X, Y, Z] with x = X/Z² and y = Y/Z³; Z is 0 for the point at infinity.
const double = ([x, y, z]) => {
  const square = (y * y) % p
  const s = (4n * x * square) % p
  const m = (3n * x * x) % p
  const doubled = mod(m * m - 2n * s, p)
  return [doubled, mod(m * (s - doubled) - 8n * square * square, p), mod(2n * y * z, p)]
}

const add = (a, b) => {
  if (a[2] === 0n) return b
  if (b[2] === 0n) return a
  const [aSquare, bSquare] = [(a[2] * a[2]) % p, (b[2] * b[2]) % p]
  const [aX, bX] = [(a[0] * bSquare) % p, (b[0] * aSquare) % p]
  const [aY, bY] = [(a[1] * bSquare * b[2]) % p, (b[1] * aSquare * a[2]) % p]
  const [h, r] = [mod(bX - aX, p), mod(bY - aY, p)]
  if (h === 0n) return r === 0n ? double(a) : [1n, 1n, 0n]
  const hSquare = (h * h) % p
  const hCube = (hSquare * h) % p
  const v = (aX * hSquare) % p
  const x = mod(r * r - hCube - 2n * v, p)
  return [x, mod(r * (v - x) - aY * hCube, p), (h * a[2] * b[2]) % p]
}

const multiply = ([x, y], scalar) => {
  let result = [1n, 1n, 0n]
  let addend = [x, y, 1n]
  for (let left = scalar; left > 0n; left >>= 1n, addend = double(addend)) if (left & 1n) result = add(result, addend)
  const inverse = power(result[2], p - 2n)
  const square = (inverse * inverse) % p
  return [(result[0] * square) % p, (result[1] * square * inverse) % p]
}

/** The point with this x and an even y. Throws if there is none. */
const lift = x => {
  const square = (power(x, 3n) + 7n) % p
  const y = power(square, (p + 1n) / 4n)
  if (x >= p || (y * y) % p !== square) throw new Error("not a public key")
  return [x, y & 1n ? p - y : y]
}

/** A new secret key. */
export function secretKey() {
  while (true) {
    const data = crypto.getRandomValues(new Uint8Array(32))
    const value = number(data)
    if (value > 0n && value < n) return hex(data)
  }
}

export const publicKey = secret => hex(encoded(multiply(generator, number(bytes(secret)))[0]))

/** The x of the point that both parties compute: the Diffie-Hellman secret. */
export const sharedSecret = (secret, key) => encoded(multiply(lift(number(bytes(key))), number(bytes(secret)))[0])

const tagged = async (tag, ...parts) => {
  const hash = await sha256(new TextEncoder().encode(tag))
  return sha256(join(hash, hash, ...parts))
}

/** The signature of 32 bytes (BIP-340). */
export async function sign(secret, message, random = crypto.getRandomValues(new Uint8Array(32))) {
  const own = number(bytes(secret))
  const [x, y] = multiply(generator, own)
  const d = y & 1n ? n - own : own
  const mask = await tagged("BIP0340/aux", random)
  const masked = encoded(d).map((byte, index) => byte ^ mask[index])
  const nonce = mod(number(await tagged("BIP0340/nonce", masked, encoded(x), message)), n)
  const [rX, rY] = multiply(generator, nonce)
  const k = rY & 1n ? n - nonce : nonce
  const challenge = mod(number(await tagged("BIP0340/challenge", encoded(rX), encoded(x), message)), n)
  return hex(join(encoded(rX), encoded(mod(k + challenge * d, n))))
}
