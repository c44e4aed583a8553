import ASCII
import Foundation
import HTTPLanes
import JSON
import RouterConfiguration

/// The texts of a platform's block that nobody is shown: what came from the environment, what stands under a key named
/// as a secret, and what is in the files that the block names. Shorter ones than ``shortest`` are no secrets: blanking
/// them would blank half of what there is to see.
struct BlockSecrets: Sendable {
    static let blank = "…"
    /// In bytes.
    static let shortest = 4
    private static let names = ["secret", "password", "token", "key"]
    private static let longestFile = 64 << 10

    /// Each in all its spellings, the longest first: one may be part of another.
    private let spellings: [String]

    /// Nothing is secret.
    init() { spellings = [] }

    /// Reads the files that the block names.
    init(_ block: Configuration.PlatformBlock) {
        var texts = Set(block.fromEnvironment)
        if let value = try? JSONValue(parsing: block.json) { Self.collect(value, isSecret: false, into: &texts) }
        for file in PathsInBlock.files(in: block.json) {
            guard let data = FileManager.default.contents(atPath: file.path), data.count <= Self.longestFile else {
                continue
            }
            let text = String(decoding: data, as: UTF8.self)
            texts.insert(text.trimmingCharacters(in: .whitespacesAndNewlines))
            texts.formUnion(text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) })
        }
        let all = texts.filter { $0.utf8.count >= Self.shortest }.flatMap(Self.spellings)
        spellings = Set(all).sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// The same request without them.
    func blanking(_ request: HTTPRequest) -> HTTPRequest {
        guard !spellings.isEmpty else { return request }
        var request = request
        request.url = blanking(request.url)
        request.headers = HTTPFields(request.headers.map { HTTPField($0.name, blanking($0.value)) })
        // What is no text is encrypted to the device.
        if let body = String(validating: request.body, as: UTF8.self) { request.body = Array(blanking(body).utf8) }
        return request
    }

    func blanking(_ text: String) -> String {
        spellings.reduce(text) { $0.contains($1) ? $0.replacing($1, with: Self.blank) : $0 }
    }

    private static func collect(_ value: JSONValue, isSecret: Bool, into texts: inout Set<String>) {
        switch value {
        case .string(let text) where isSecret: texts.insert(text)
        case .array(let values): for value in values { collect(value, isSecret: isSecret, into: &texts) }
        case .object(let object):
            for member in object.members {
                // `token` of a described service says what a token looks like: only `secrets` has secrets below it.
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

    /// As it is, and as URLs and JSON have it.
    private static func spellings(of text: String) -> [String] {
        var json = JSONText()
        json.appendQuoted(text)
        let quoted = String(decoding: json.bytes.dropFirst().dropLast(), as: UTF8.self)
        return [
            text, PercentEncoding.encode(text), PercentEncoding.encode(text).replacing("%20", with: "+"), quoted,
            quoted.replacing("/", with: "\\/"),
        ]
    }
}
