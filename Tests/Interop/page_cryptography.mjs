// Runs the official vectors through the cryptography of the page /subscribe, and prints one line for each that fails.
//
// node page_cryptography.mjs FOLDER NIP44 BIP340: the folder of the page's modules, the vectors as JSON and as CSV.

import { webcrypto } from "node:crypto"
import { readFile } from "node:fs/promises"
import { pathToFileURL } from "node:url"

// Browsers have it; of node, version 18 and older have not.
globalThis.crypto ??= webcrypto

const [folder, nip44File, bip340File] = process.argv.slice(2)
const page = name => import(pathToFileURL(`${folder}/${name}`).href)
const nip44 = await page("nip44.js")
const curve = await page("secp256k1.js")
let passed = 0
const failed = []

const same = async (name, expected, work) => {
  let result
  try {
    result = await work()
  } catch (error) {
    result = `error: ${error.message}`
  }
  if (result === expected) passed += 1
  else failed.push(`${name}: ${result}, not ${expected}`)
}
const refused = async (name, work) => {
  try {
    await work()
    failed.push(`${name}: taken`)
  } catch {
    passed += 1
  }
}

const { valid, invalid } = JSON.parse(await readFile(nip44File, "utf8")).v2
for (const [index, row] of valid.get_conversation_key.entries()) {
  const key = async () => curve.hex(await nip44.conversationKey(row.sec1, row.pub2))
  await same(`conversation key ${index}`, row.conversation_key, key)
}
for (const [index, row] of valid.encrypt_decrypt.entries()) {
  const conversation = curve.bytes(row.conversation_key)
  const shared = async () => curve.hex(await nip44.conversationKey(row.sec1, curve.publicKey(row.sec2)))
  await same(`shared key ${index}`, row.conversation_key, shared)
  await same(`encryption ${index}`, row.payload, () => nip44.encrypt(conversation, row.plaintext, curve.bytes(row.nonce)))
  await same(`decryption ${index}`, row.plaintext, () => nip44.decrypt(conversation, row.payload))
}
for (const [index, row] of valid.encrypt_decrypt_long_msg.entries()) {
  const conversation = curve.bytes(row.conversation_key)
  const text = row.pattern.repeat(row.repeat)
  const hash = async data => curve.hex(await curve.sha256(new TextEncoder().encode(data)))
  const payload = await nip44.encrypt(conversation, text, curve.bytes(row.nonce)).catch(error => `error: ${error.message}`)
  await same(`long text ${index}`, row.payload_sha256, () => hash(payload))
  await same(`long text back ${index}`, text, () => nip44.decrypt(conversation, payload))
}
for (const [index, row] of invalid.get_conversation_key.entries()) {
  await refused(`bad key ${index} (${row.note})`, () => nip44.conversationKey(row.sec1, row.pub2))
}
for (const [index, row] of invalid.decrypt.entries()) {
  await refused(`bad payload ${index} (${row.note})`, () => nip44.decrypt(curve.bytes(row.conversation_key), row.payload))
}

const rows = (await readFile(bip340File, "utf8")).trim().split(/\r?\n/).slice(1).map(line => line.split(","))
for (const [index, secret, key, random, message, signature] of rows) {
  if (!secret) continue
  await same(`public key ${index}`, key.toLowerCase(), () => curve.publicKey(secret))
  const sign = () => curve.sign(secret, curve.bytes(message), curve.bytes(random))
  await same(`signature ${index}`, signature.toLowerCase(), sign)
}

for (const line of failed) console.log(line)
console.log(`${passed} passed, ${failed.length} failed`)
