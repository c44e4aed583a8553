// A QR code for one short text (ISO/IEC 18004): versions 1 to 5, bytes, error correction level L.

const codewords = [[19, 7], [34, 10], [55, 15], [80, 20], [108, 26]]
const namespace = "http://www.w3.org/2000/svg"

const multiply = (x, y) => {
  let product = 0
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d)
    product ^= ((y >>> bit) & 1) * x
  }
  return product
}

const correction = (data, count) => {
  const divisor = new Array(count).fill(0)
  divisor[count - 1] = 1
  let root = 1
  for (let round = 0; round < count; round += 1) {
    for (let index = 0; index < count; index += 1) {
      divisor[index] = multiply(divisor[index], root)
      if (index + 1 < count) divisor[index] ^= divisor[index + 1]
    }
    root = multiply(root, 2)
  }
  const rest = new Array(count).fill(0)
  for (const byte of data) {
    const factor = byte ^ rest.shift()
    rest.push(0)
    divisor.forEach((value, index) => { rest[index] ^= multiply(value, factor) })
  }
  return rest
}

/** The modules of the code, row by row, true if dark; null for a text of more than 106 bytes. */
export function modules(text) {
  const bytes = [...new TextEncoder().encode(text)]
  const version = codewords.findIndex(([data]) => bytes.length + 2 <= data)
  if (version < 0) return null
  const [dataCount, correctionCount] = codewords[version]
  const size = 21 + 4 * version
  const dark = Array.from({ length: size }, () => new Array(size).fill(false))
  const fixed = Array.from({ length: size }, () => new Array(size).fill(false))
  const set = (x, y, value) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return
    dark[y][x] = value
    fixed[y][x] = true
  }

  for (let index = 0; index < size; index += 1) {
    set(6, index, index % 2 === 0)
    set(index, 6, index % 2 === 0)
  }
  for (const [centreX, centreY] of [[3, 3], [size - 4, 3], [3, size - 4]]) {
    for (let y = -4; y <= 4; y += 1) {
      for (let x = -4; x <= 4; x += 1) {
        const distance = Math.max(Math.abs(x), Math.abs(y))
        set(centreX + x, centreY + y, distance !== 2 && distance !== 4)
      }
    }
  }
  if (version > 0) {
    for (let y = -2; y <= 2; y += 1) {
      for (let x = -2; x <= 2; x += 1) set(size - 7 + x, size - 7 + y, Math.max(Math.abs(x), Math.abs(y)) !== 1)
    }
  }
  // Level L and mask 0, with their own error correction (BCH).
  const format = 0b111011111000100
  const bit = index => ((format >>> index) & 1) === 1
  for (let index = 0; index <= 5; index += 1) set(8, index, bit(index))
  set(8, 7, bit(6))
  set(8, 8, bit(7))
  set(7, 8, bit(8))
  for (let index = 9; index < 15; index += 1) set(14 - index, 8, bit(index))
  for (let index = 0; index < 8; index += 1) set(size - 1 - index, 8, bit(index))
  for (let index = 8; index < 15; index += 1) set(8, size - 15 + index, bit(index))
  set(8, size - 8, true)

  const bits = []
  const append = (value, count) => {
    for (let index = count - 1; index >= 0; index -= 1) bits.push((value >>> index) & 1)
  }
  append(0b0100, 4)
  append(bytes.length, 8)
  for (const byte of bytes) append(byte, 8)
  append(0, Math.min(4, dataCount * 8 - bits.length))
  while (bits.length % 8 !== 0) bits.push(0)
  const data = []
  for (let index = 0; index < bits.length; index += 8) data.push(Number.parseInt(bits.slice(index, index + 8).join(""), 2))
  for (let pad = 0xec; data.length < dataCount; pad ^= 0xec ^ 0x11) data.push(pad)

  const all = [...data, ...correction(data, correctionCount)]
  let next = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step += 1) {
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step
        if (fixed[y][x]) continue
        const value = next < all.length * 8 && ((all[next >>> 3] >>> (7 - (next & 7))) & 1) === 1
        dark[y][x] = value !== ((x + y) % 2 === 0)
        next += 1
      }
    }
  }
  return dark
}

/** A picture of the code, black on white in every colour scheme, so that cameras can read it. */
export function picture(text, title) {
  const rows = modules(text)
  if (!rows) return null
  const side = rows.length + 8
  const svg = document.createElementNS(namespace, "svg")
  svg.setAttribute("viewBox", `0 0 ${side} ${side}`)
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", title)
  svg.setAttribute("shape-rendering", "crispEdges")
  const ground = document.createElementNS(namespace, "rect")
  for (const [name, value] of Object.entries({ width: side, height: side, fill: "#fff" })) ground.setAttribute(name, value)
  const path = document.createElementNS(namespace, "path")
  const runs = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])))
  path.setAttribute("d", runs.join(""))
  path.setAttribute("fill", "#000")
  svg.append(ground, path)
  return svg
}
