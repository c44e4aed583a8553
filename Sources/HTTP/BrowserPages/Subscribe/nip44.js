// Encryption between two keys (NIP-44, version 2), for a session with a remote signer.

import { join, sharedSecret } from "./secp256k1.js"

const text = new TextEncoder()
const version = 2

const hmac = async (key, ...parts) => {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, join(...parts)))
}

/** The key of a conversation; `secret` and `key` are hex. */
export const conversationKey = (secret, key) => hmac(text.encode("nip44-v2"), sharedSecret(secret, key))

const messageKeys = async (conversation, nonce) => {
  const first = await hmac(conversation, nonce, [1])
  const second = await hmac(conversation, first, nonce, [2])
  const third = await hmac(conversation, second, nonce, [3])
  const all = join(first, second, third)
  return { key: all.slice(0, 32), nonce: all.slice(32, 44), authentication: all.slice(44, 76) }
}

/** RFC 8439, starting at block 0. */
const chacha20 = (key, nonce, data) => {
  const words = part => [...new Uint32Array(part.slice().buffer)]
  const start = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...words(key), 0, ...words(nonce)]
  const result = new Uint8Array(data.length)
  for (let block = 0; block * 64 < data.length; block += 1) {
    start[12] = block
    const state = Uint32Array.from(start)
    const turn = (a, b, bits) => {
      const mixed = state[a] ^ state[b]
      state[a] = (mixed << bits) | (mixed >>> (32 - bits))
    }
    const quarter = (a, b, c, d) => {
      state[a] += state[b]; turn(d, a, 16)
      state[c] += state[d]; turn(b, c, 12)
      state[a] += state[b]; turn(d, a, 8)
      state[c] += state[d]; turn(b, c, 7)
    }
    for (let round = 0; round < 10; round += 1) {
      for (let column = 0; column < 4; column += 1) quarter(column, 4 + column, 8 + column, 12 + column)
      for (let column = 0; column < 4; column += 1) {
        quarter(column, 4 + ((column + 1) & 3), 8 + ((column + 2) & 3), 12 + ((column + 3) & 3))
      }
    }
    const stream = new Uint8Array(state.map((word, index) => word + start[index]).buffer)
    for (let index = 0; index < 64 && block * 64 + index < data.length; index += 1) {
      result[block * 64 + index] = data[block * 64 + index] ^ stream[index]
    }
  }
  return result
}

const paddedLength = length => {
  if (length <= 32) return 32
  const next = 2 ** (Math.floor(Math.log2(length - 1)) + 1)
  const step = next <= 256 ? 32 : next / 8
  return step * (Math.floor((length - 1) / step) + 1)
}

const base64 = data => btoa(Array.from(data, byte => String.fromCharCode(byte)).join(""))

/** Encrypts `plaintext` into a payload. `nonce` is 32 random bytes. */
export async function encrypt(conversation, plaintext, nonce = crypto.getRandomValues(new Uint8Array(32))) {
  const data = text.encode(plaintext)
  if (data.length < 1 || data.length > 65_535) throw new Error("the text is too long")
  const padded = new Uint8Array(2 + paddedLength(data.length))
  padded.set([data.length >>> 8, data.length & 255])
  padded.set(data, 2)
  const keys = await messageKeys(conversation, nonce)
  const ciphertext = chacha20(keys.key, keys.nonce, padded)
  const code = await hmac(keys.authentication, nonce, ciphertext)
  return base64(join([version], nonce, ciphertext, code))
}

/** Decrypts a payload. Throws if the other party did not make it. */
export async function decrypt(conversation, payload) {
  const data = Uint8Array.from(atob(payload), letter => letter.charCodeAt(0))
  if (data[0] !== version || data.length < 99) throw new Error("not of NIP-44")
  const [nonce, ciphertext, code] = [data.slice(1, 33), data.slice(33, -32), data.slice(-32)]
  const keys = await messageKeys(conversation, nonce)
  const expected = await hmac(keys.authentication, nonce, ciphertext)
  if (expected.some((byte, index) => byte !== code[index])) throw new Error("not authentic")
  const padded = chacha20(keys.key, keys.nonce, ciphertext)
  const length = (padded[0] << 8) | padded[1]
  if (length < 1 || padded.length !== 2 + paddedLength(length)) throw new Error("padded wrongly")
  return new TextDecoder("utf-8", { fatal: true }).decode(padded.slice(2, 2 + length))
}
