import Cipher
import Console
import Foundation
import Nostr
import Notifications
import Units

/// A moment as operators read it, in UTC.
struct UTCTime {
    /// Since 1970.
    private let milliseconds: Int64

    init(_ moment: Timestamp) {
        milliseconds = moment.milliseconds
    }

    /// As in `2026-11-22T07:00:00.125Z` (RFC 3339), for machines.
    var stamp: String { "\(date)T\(time).\(Self.digits(milliseconds.remainder(1_000), 3))Z" }

    /// As in `2026-11-22 07:00:00 UTC`.
    var words: String { "\(date) \(time) UTC" }

    private var date: String {
        // Days since 0000-03-01, in eras of 400 years (Howard Hinnant, "chrono-compatible low-level date algorithms").
        let days = milliseconds.quotient(86_400_000) + 719_468
        let (era, day) = (days.quotient(146_097), days.remainder(146_097))
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let (dayOfMonth, calendarMonth) = (dayOfYear - (153 * month + 2) / 5 + 1, month < 10 ? month + 3 : month - 9)
        let calendarYear = year + era * 400 + (calendarMonth <= 2 ? 1 : 0)
        return "\(Self.digits(calendarYear, 4))-\(Self.digits(calendarMonth, 2))-\(Self.digits(dayOfMonth, 2))"
    }

    private var time: String {
        let seconds = milliseconds.remainder(86_400_000) / 1_000
        return [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { Self.digits($0, 2) }.joined(separator: ":")
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}

extension Int64 {
    /// Rounded down, also below zero.
    fileprivate func quotient(_ divisor: Int64) -> Int64 { (self - remainder(divisor)) / divisor }

    fileprivate func remainder(_ divisor: Int64) -> Int64 { ((self % divisor) + divisor) % divisor }
}

/// Rows in columns that are as wide as they have to be.
enum TextTable {
    static func lines(_ rows: [[String]]) -> [String] {
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

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// Words of a command that a person copies into a shell.
package enum ShellWord {
    /// `text` as one word, in quotes where the shell would take it for something else.
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

/// Reads what operators write on a command line or in a request.
enum OperatorWords {
    /// An event's id, alone or in a link such as `nostr:nevent1…` or `https://njump.me/note1…`.
    static func event(_ text: String) throws(OperationFailure) -> EventID {
        let id = named(in: text) { word in
            EventID(hex: word) ?? NIP19.eventID(note: word) ?? NIP19.eventID(nevent: word)
        }
        guard let id else {
            throw .invalid(
                Sentence("event-id", [:], "expected an event's id: 64 hex digits, note1… or nevent1…, also in a link")
            )
        }
        return id
    }

    /// The id of a notification that was sent over the API, alone or in its address; nil: it is none.
    static func request(_ text: String) -> String? {
        named(in: text) { $0.utf8.count == 32 && Hex.decode($0) != nil ? $0 : nil }
    }

    /// The first part of a text that is not empty. QR codes spell links in capitals.
    private static func named<Value>(in text: String, _ read: (String) -> Value?) -> Value? {
        for word in text.split(whereSeparator: { !($0.isASCII && ($0.isLetter || $0.isNumber)) }) {
            if let value = read(word.lowercased()) { return value }
        }
        return nil
    }

    /// `name` is what the key was given as.
    static func key(_ text: String, _ name: String) throws(OperationFailure) -> PublicKey {
        let key = named(in: text) { word in
            PublicKey(hex: word) ?? NIP19.publicKey(npub: word) ?? NIP19.publicKey(nprofile: word)
        }
        guard let key else {
            throw .invalid(Sentence("key", ["member": name], "\(name): expected 64 lowercase hex digits or npub1…"))
        }
        return key
    }

    static func mode(_ text: String) throws(OperationFailure) -> Mode {
        guard let mode = Mode(name: text) else {
            throw .invalid("mode: expected one of \(Mode.allCases.map(\.name).joined(separator: ", "))")
        }
        return mode
    }
}
