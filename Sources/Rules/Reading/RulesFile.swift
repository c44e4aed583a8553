import Nostr
import Storage
import Synchronization

/// One of the files that contain the rules.
package struct RulesFile: Sendable {
    /// The reason why a file cannot be read, as the end of a sentence.
    package struct Unreadable: Error {
        let reason: String

        package init(_ reason: String) {
            self.reason = reason
        }
    }

    /// The path for error messages.
    package var name: String
    package var text: String
    /// Returns the text of another file, by its path in this one.
    let otherFile: @Sendable (_ path: String) throws(Unreadable) -> String
    /// Key files that were read, by their paths in this file. They are shared, because this file may be part of many
    /// books.
    let keySets = KeySets()

    package init(
        name: String,
        text: String,
        otherFile: @escaping @Sendable (_ path: String) throws(Unreadable) -> String = { _ throws(Unreadable) in
            throw Unreadable("these rules are not in a file, so they cannot refer to other files")
        }
    ) {
        self.name = name
        self.text = text
        self.otherFile = otherFile
    }
}

/// A cache of the public keys in key files, shared by rule books.
final class KeySets: Sendable {
    private let sets = Mutex<[String: Set<PublicKey>]>([:])

    subscript(path: String) -> Set<PublicKey>? {
        get { sets.withLock { $0[path] } }
        set { sets.withLock { $0[path] = newValue } }
    }
}

/// Reads public keys: npub or hex, one or a list, or `{ file: vips.txt }` with one on each line.
struct KeyListReader {
    /// More than people list by hand; each takes about fifty bytes.
    private static let limit = 100_000
    /// More errors in a file are only counted.
    private static let mistakeLimit = 5

    let file: RulesFile

    func keys(_ value: YAMLValue) -> Set<PublicKey> {
        guard value.isMapping else {
            let values = value.oneOrMore()
            if values.isEmpty { value.mistake("expected at least one key") }
            return Set(values.compactMap(key))
        }
        guard let path = value.mapping(keys: ["file"])?.require("file", "the file with a key on each line"),
            let name = path.string()
        else { return [] }
        if let known = file.keySets[name] { return known }
        do {
            return keys(in: try file.otherFile(name), of: name, path)
        } catch {
            path.mistake("\(name.prefix(200)): \(error.reason)")
            return []
        }
    }

    private func key(_ value: YAMLValue) -> PublicKey? {
        guard let text = value.string() else { return nil }
        if let key = Self.key(text) { return key }
        value.mistake(Self.expectation(text))
        return nil
    }

    /// Reads one key per line. Ignores empty lines and everything after `#`.
    private func keys(in text: String, of name: String, _ place: YAMLValue) -> Set<PublicKey> {
        var keys: Set<PublicKey> = []
        var mistakes = 0
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let word = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard !word.isEmpty else { continue }
            guard let key = Self.key(word) else {
                mistakes += 1
                if mistakes <= Self.mistakeLimit {
                    place.mistake("line \(index + 1) of \(name.prefix(200)): \(Self.expectation(word))")
                }
                continue
            }
            keys.insert(key)
            guard keys.count <= Self.limit else {
                place.mistake("\(name.prefix(200)): expected at most \(Self.limit) keys")
                break
            }
        }
        if mistakes > Self.mistakeLimit { place.mistake("\(name.prefix(200)): \(mistakes) lines are not keys") }
        if mistakes == 0, keys.count <= Self.limit { file.keySets[name] = keys }
        return keys
    }

    private static func key(_ text: String) -> PublicKey? {
        PublicKey(hex: text.lowercased()) ?? NIP19.publicKey(npub: text)
    }

    /// Does not quote the text, which may be secret.
    private static func expectation(_ text: String) -> String {
        text.lowercased().hasPrefix("nsec1")
            ? "this is a secret key: expected npub1… or 64 hex digits, and take it out of this file"
            : "expected a public key: npub1… or 64 hex digits"
    }
}
