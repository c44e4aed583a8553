import Core
import Foundation
import HTTPClient
import JSON
import Push
import RouterConfiguration

/// Finds the secrets of a platform's block and blanks them in output. Secrets are values from the environment, values
/// of keys with a secret's name, and contents of files that the block names. Strings shorter than ``shortest`` stay,
/// because blanking them would blank half of the output.
struct BlockSecrets: Sendable {
    static let blank = "…"
    /// In bytes.
    static let shortest = 4
    private static let names = ["secret", "password", "token", "key"]
    private static let longestFile = 64 << 10

    /// Longest first, because one secret may contain another.
    private let secrets: [String]

    /// Has no secrets.
    init() { secrets = [] }

    /// Reads the files that the block names in keys that the plugin's `description` declares as files.
    init(_ block: Configuration.PlatformBlock, _ description: PlatformDescription? = nil) {
        var texts = Set(block.fromEnvironment)
        let json = block.json(for: description)
        if let value = try? JSONValue(parsing: json) { Self.collect(value, isSecret: false, into: &texts) }
        for file in BlockFiles(description).named(in: json) {
            guard let data = FileManager.default.contents(atPath: file.path), data.count <= Self.longestFile else {
                continue
            }
            let text = String(decoding: data, as: UTF8.self)
            texts.insert(text.trimmingCharacters(in: .whitespacesAndNewlines))
            texts.formUnion(text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) })
        }
        secrets = texts.filter { $0.utf8.count >= Self.shortest }.sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// Returns the request with secrets blanked.
    func blanking(_ request: HTTPRequest) -> HTTPRequest {
        guard !secrets.isEmpty else { return request }
        var request = request
        request.url = blanking(request.url)
        request.headers = HTTPFields(request.headers.map { HTTPField($0.name, blanking($0.value)) })
        // A body that is not UTF-8 is encrypted to the device.
        if let body = String(validating: request.body, as: UTF8.self) { request.body = Array(blanking(body).utf8) }
        return request
    }

    func blanking(_ text: String) -> String {
        secrets.reduce(text) { text, secret in
            let plain = text.contains(secret) ? text.replacing(secret, with: Self.blank) : text
            return Self.blanking(Array(secret.utf8), in: plain)
        }
    }

    /// Blanks a secret even if any of its characters are percent-encoded or escaped.
    private static func blanking(_ secret: [UInt8], in text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(where: { $0.isOne(of: "%\\+") }) else { return text }
        var (result, position): ([UInt8], Int) = ([], 0)
        while position < bytes.count {
            if let after = end(of: secret, in: bytes, from: position) {
                result += blank.utf8
                position = after
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns where `secret` ends in `bytes` if it starts at `start`; otherwise `nil`.
    private static func end(of secret: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        var (rest, position) = (secret[...], start)
        while let wanted = rest.first {
            guard position < bytes.count else { return nil }
            let (decoded, length) = EncodedCharacter.read(bytes[position...])
            if rest.starts(with: decoded) {
                rest = rest.dropFirst(decoded.count)
                position += length
            } else if wanted == UInt8(ascii: " "), bytes[position] == UInt8(ascii: "+") {
                rest = rest.dropFirst()
                position += 1
            } else {
                return nil
            }
        }
        return position
    }

    private static func collect(_ value: JSONValue, isSecret: Bool, into texts: inout Set<String>) {
        switch value {
        case .string(let text) where isSecret: texts.insert(text)
        case .array(let values): for value in values { collect(value, isSecret: isSecret, into: &texts) }
        case .object(let object):
            for member in object.members {
                // `token` in a described service is the pattern of a token. Only values below `secrets` are secret.
                let isBelow = if case .object = member.value { member.name == "secrets" } else { isNamed(member.name) }
                collect(member.value, isSecret: isBelow || isSecret, into: &texts)
            }
        case .string, .number, .bool, .null: break
        }
    }

    private static func isNamed(_ key: String) -> Bool {
        guard let word = key.split(whereSeparator: { $0 == "_" || $0 == "-" }).last?.lowercased() else { return false }
        return names.contains(word) || names.contains { word == $0 + "s" }
    }
}

/// A decoder of characters that are percent-encoded or escaped in JSON.
private enum EncodedCharacter {
    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
        UInt8(ascii: "/"): UInt8(ascii: "/"), UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0c,
        UInt8(ascii: "n"): 0x0a, UInt8(ascii: "r"): 0x0d, UInt8(ascii: "t"): 0x09,
    ]

    /// Returns the decoded bytes of the first character, and its encoded length.
    static func read(_ bytes: ArraySlice<UInt8>) -> (decoded: [UInt8], length: Int) {
        let start = bytes.startIndex
        if bytes[start] == UInt8(ascii: "%"), let byte = hex(bytes.dropFirst().prefix(2), digits: 2) {
            return ([UInt8(byte)], 3)
        }
        if bytes[start] == UInt8(ascii: "\\"), bytes.count > 1 {
            if let byte = escapes[bytes[start + 1]] { return ([byte], 2) }
            if let (units, length) = units(bytes) {
                return (Array(String(decoding: units, as: UTF16.self).utf8), length)
            }
        }
        return ([bytes[start]], 1)
    }

    /// Decodes `\uXXXX`, or two for a surrogate pair.
    private static func units(_ bytes: ArraySlice<UInt8>) -> ([UInt16], Int)? {
        guard let first = unit(bytes) else { return nil }
        guard UTF16.isLeadSurrogate(first), let second = unit(bytes.dropFirst(6)), UTF16.isTrailSurrogate(second) else {
            return ([first], 6)
        }
        return ([first, second], 12)
    }

    private static func unit(_ bytes: ArraySlice<UInt8>) -> UInt16? {
        guard bytes.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else { return nil }
        return hex(bytes.dropFirst(2).prefix(4), digits: 4)
    }

    private static func hex(_ bytes: ArraySlice<UInt8>, digits: Int) -> UInt16? {
        guard bytes.count == digits else { return nil }
        var value: UInt16 = 0
        for byte in bytes {
            guard let digit = byte.hexDigitValue else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}
