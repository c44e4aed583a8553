import Nostr
import Synchronization

/// One of the files that together are the rules.
package struct RulesFile: Sendable {
    /// Why a file cannot be read, as a sentence's end.
    package struct Unreadable: Error {
        let reason: String

        package init(_ reason: String) {
            self.reason = reason
        }
    }

    /// The path as it should appear in mistakes.
    package var name: String
    package var text: String
    /// The text of another file, by its path as it stands in this one.
    let otherFile: @Sendable (_ path: String) throws(Unreadable) -> String
    /// Files of keys that were read, by their paths as they stand in this one: it may be part of many books.
    let keySets = KeySets()

    package init(
        name: String,
        text: String,
        otherFile: @escaping @Sendable (_ path: String) throws(Unreadable) -> String = { _ throws(Unreadable) in
            throw Unreadable("these rules stand in no file, so they name none")
        }
    ) {
        self.name = name
        self.text = text
        self.otherFile = otherFile
    }
}

/// Sets of keys that books share.
final class KeySets: Sendable {
    private let sets = Mutex<[String: Set<PublicKey>]>([:])

    subscript(path: String) -> Set<PublicKey>? {
        get { sets.withLock { $0[path] } }
        set { sets.withLock { $0[path] = newValue } }
    }
}
