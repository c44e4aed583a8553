import Glibc
import Synchronization

/// Remembers what was read out of texts that come again and again, such as a rule's block without variables, so that
/// each is read once. A text is remembered when it comes the second time: those that never come again push nothing out.
public final class ReadTexts<Value: Sendable>: Sendable {
    private struct State {
        /// Apart from the values: a search through them costs little in code that does not know what the values are.
        var texts = KnownTexts()
        var values: [Value] = []
        /// Where the next one goes once there is no room.
        var oldest = 0
        /// Hashes of texts that came once.
        var strangers = [Int](repeating: 0, count: 64)
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let longest: Int

    /// Keeps at most `capacity` texts of at most `longest` bytes.
    public init(capacity: Int = 16, longest: Int = 4096) {
        self.capacity = capacity
        self.longest = longest
    }

    /// What `read` makes of `text`, or made of it before. What it throws is not remembered.
    public func value<Failure: Error>(
        of text: BorrowedText,
        _ read: (BorrowedText) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard text.count <= longest else { return try read(text) }
        if let known = state.withLock({ state in state.texts.place(of: text).map { state.values[$0] } }) {
            return known
        }
        let value = try read(text)
        var hasher = Hasher()
        hasher.combine(bytes: text.bytes)
        let hash = hasher.finalize()
        state.withLock { state in
            let place = hash & (state.strangers.count - 1)
            guard state.strangers[place] == hash else {
                state.strangers[place] = hash
                return
            }
            // Another thread may have been as fast.
            guard state.texts.place(of: text) == nil else { return }
            if state.values.count < capacity {
                state.texts.put(text, at: state.values.count)
                state.values.append(value)
            } else if capacity > 0 {
                state.texts.put(text, at: state.oldest)
                state.values[state.oldest] = value
                state.oldest = (state.oldest + 1) % capacity
            }
        }
        return value
    }
}

/// Texts that are known, by their places.
private struct KnownTexts {
    private var texts: [[UInt8]] = []

    func place(of text: BorrowedText) -> Int? {
        for place in texts.indices where text.isSame(as: texts[place]) { return place }
        return nil
    }

    /// `place` is that of another, or the next.
    mutating func put(_ text: BorrowedText, at place: Int) {
        if place < texts.count { texts[place] = [UInt8](text.bytes) } else { texts.append([UInt8](text.bytes)) }
    }
}

/// Keeps what was read out of recipients' lists, one a recipient, for as long as the list stays the same. Bounded by
/// the bytes of the lists and their values.
public final class RecipientMemory<Value: Sendable>: Sendable {
    private struct Entry {
        let text: [UInt8]
        let value: Value
        /// In bytes, with the text.
        let weight: Int
    }

    private let entries: Mutex<BoundedCache<String, Entry>>
    private let room: Int
    private let weight: @Sendable (Value) -> Int

    /// `room` is how many bytes the remembered lists may have together, with what `weight` says that each value takes.
    public init(room: Int = 32 << 20, weight: @escaping @Sendable (Value) -> Int = { _ in 0 }) {
        entries = Mutex(BoundedCache(capacity: room) { $0.weight })
        self.room = room
        self.weight = weight
    }

    /// What `read` makes of the list `text` of `recipient`, or made of it before.
    public func value<Failure: Error>(
        of text: BorrowedText,
        for recipient: String,
        _ read: (BorrowedText) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if let known = entries.withLock({ $0.value(of: recipient) }), text.isSame(as: known.text) { return known.value }
        let value = try read(text)
        let weight = text.count + weight(value)
        if weight <= room / 2 {
            let entry = Entry(text: [UInt8](text.bytes), value: value, weight: weight)
            entries.withLock { $0.set(entry, for: recipient) }
        }
        return value
    }
}

extension BorrowedText {
    fileprivate func isSame(as text: [UInt8]) -> Bool {
        guard text.count == count else { return false }
        guard let start = bytes.baseAddress else { return true }
        return text.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start, count) == 0 } ?? true }
    }
}
