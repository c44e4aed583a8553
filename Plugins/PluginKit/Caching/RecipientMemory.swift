import Glibc
import Synchronization

/// Keeps what was read out of recipients' lists, one a recipient, for as long as the list stays the same. Bounded by the
/// bytes of the lists and of what was made of them: of two halves, the older is forgotten when the younger is full.
public final class RecipientMemory<Value: Sendable>: Sendable {
    private struct Entry {
        let text: [UInt8]
        let value: Value
        /// In bytes, with the text.
        let weight: Int

        func isOf(_ other: BorrowedText) -> Bool {
            guard text.count == other.count else { return false }
            guard let start = other.bytes.baseAddress else { return true }
            return text.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start, other.count) == 0 } ?? true }
        }
    }

    private struct State {
        var younger: [String: Entry] = [:]
        var older: [String: Entry] = [:]
        /// Of the younger ones.
        var bytes = 0

        mutating func insert(_ entry: Entry, for recipient: String, room: Int) {
            if bytes + entry.weight > room / 2, !younger.isEmpty {
                older = younger
                younger = [:]
                bytes = 0
            }
            older[recipient] = nil
            bytes += entry.weight - (younger.updateValue(entry, forKey: recipient)?.weight ?? 0)
        }
    }

    private let state = Mutex(State())
    private let room: Int
    private let weight: @Sendable (Value) -> Int

    /// `room` is how many bytes the remembered lists may have together, with what `weight` says that each value takes.
    public init(room: Int = 32 << 20, weight: @escaping @Sendable (Value) -> Int = { _ in 0 }) {
        self.room = room
        self.weight = weight
    }

    /// What `read` makes of the list `text` of `recipient`, or made of it before.
    public func value<Failure: Error>(
        of text: BorrowedText,
        for recipient: String,
        _ read: (BorrowedText) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let known = state.withLock { state -> Value? in
            if let entry = state.younger[recipient], entry.isOf(text) { return entry.value }
            guard let entry = state.older[recipient], entry.isOf(text) else { return nil }
            state.insert(entry, for: recipient, room: room)
            return entry.value
        }
        if let known { return known }
        let value = try read(text)
        let weight = text.count + weight(value)
        if weight <= room / 2 {
            let entry = Entry(text: [UInt8](text.bytes), value: value, weight: weight)
            state.withLock { $0.insert(entry, for: recipient, room: room) }
        }
        return value
    }
}
