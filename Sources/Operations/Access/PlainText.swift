import Cipher
import Console
import Core
import Delivery
import Foundation
import Nostr
import Push
import Registry

extension Timestamp {
    /// The time as operators read it: `2026-11-22 07:00:00 UTC`.
    package var words: String { "\(CivilDate(self).text) \(clock) UTC" }
}

/// Formats rows as aligned columns.
package enum TextTable {
    package static func lines(_ rows: [[String]]) -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (index, cell) in row.enumerated() {
                if index == widths.count { widths.append(0) }
                widths[index] = max(widths[index], cell.count)
            }
        }
        return rows.map { row in
            row.enumerated().map { index, cell in
                index == row.count - 1 ? cell : cell.padded(to: widths[index] + 2)
            }
            .joined()
        }
    }
}

extension QueueName {
    init(_ route: Route) { self.init(platform: route.platform, app: route.app) }

    init(_ address: DeviceAddress) { self.init(platform: address.platform, app: address.app) }

    /// The name as operators read it.
    var words: String { "\(platform)/\(app)" }
}

extension Array {
    /// Returns the first `limit` elements, and the last of them if there are more elements.
    func page(_ limit: Int) -> (shown: [Element], last: Element?) {
        let shown = Array(prefix(limit))
        return (shown, count > limit ? shown.last : nil)
    }

    /// Returns the elements with the name of the member that reported them.
    func named(_ name: String, by member: WritableKeyPath<Element, String?>) -> [Element] {
        map { element in
            var element = element
            element[keyPath: member] = name
            return element
        }
    }
}

extension String {
    /// The RFC 3339 time in this string, cut to minutes.
    var minute: String { "\(prefix(16))Z" }

    /// The RFC 3339 time in this string, cut to seconds.
    package var second: String { "\(prefix(19))Z" }

    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension String? {
    /// The RFC 3339 time in this string, cut to minutes; "-" if there is none.
    var minute: String { map(\.minute) ?? "-" }

    /// The same, cut to seconds.
    var second: String { map(\.second) ?? "-" }
}

/// Quotes arguments of a command that a person copies into a shell.
package enum ShellWord {
    /// Returns `text` as one shell word, quoted only if necessary.
    package static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy(isPlain)
        return isPlain ? text : "'" + text.replacing("'", with: #"'\''"#) + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "/._-+,:@%".utf8.contains(byte)
        }
    }
}

/// Parses the values that operators write on a command line or in a request.
enum OperatorWords {
    /// Parses an event ID, on its own or in a link such as `nostr:nevent1…` or `https://njump.me/note1…`.
    static func event(_ text: String) throws(OperationError) -> EventID {
        let id = named(in: text) { word in
            EventID(hex: word) ?? NIP19.eventID(note: word) ?? NIP19.eventID(nevent: word)
        }
        guard let id else {
            throw .invalid(
                Sentence("event-id", "expected an event's id: 64 hex digits, note1… or nevent1…, or a link with one")
            )
        }
        return id
    }

    /// Parses the ID of a notification that was sent over the API, on its own or in its URL; nil if invalid.
    static func request(_ text: String) -> String? {
        named(in: text) { $0.utf8.count == 32 && Hex.decode($0) != nil ? $0 : nil }
    }

    /// Returns the first part of `text` that `read` accepts. QR codes spell links in capitals.
    private static func named<Value>(in text: String, _ read: (String) -> Value?) -> Value? {
        for word in text.split(whereSeparator: { !($0.isASCII && ($0.isLetter || $0.isNumber)) }) {
            if let value = read(word.lowercased()) { return value }
        }
        return nil
    }

    /// Parses a public key. `name` is the parameter's name in errors.
    static func key(_ text: String, _ name: String) throws(OperationError) -> PublicKey {
        let key = named(in: text) { word in
            PublicKey(hex: word) ?? NIP19.publicKey(npub: word) ?? NIP19.publicKey(nprofile: word)
        }
        guard let key else {
            throw .invalid(Sentence("key", ["member": name], "\(name): expected 64 lowercase hex digits or npub1…"))
        }
        return key
    }

    /// Parses the parameter `seconds` of a request; nil if it is missing.
    static func seconds(_ parameters: [String: String]) throws(OperationError) -> Duration? {
        guard let text = parameters["seconds"] else { return nil }
        guard let seconds = Int64(text), (1...315_360_000).contains(seconds) else {
            throw .invalid("seconds: expected a number of seconds")
        }
        return .seconds(seconds)
    }

    static func mode(_ text: String) throws(OperationError) -> Mode {
        guard let mode = Mode(name: text) else {
            throw .invalid("mode: expected one of \(Mode.allCases.map(\.name).joined(separator: ", "))")
        }
        return mode
    }
}
