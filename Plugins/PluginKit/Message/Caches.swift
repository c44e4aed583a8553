import Glibc
import Synchronization

/// A cache of parsed values for texts that repeat, such as a rule's block without variables, so that each is parsed
/// once. A text is cached when it comes the second time, so texts that never repeat evict no entries. Example:
/// `try blocks.value(of: notification.native) { text throws(JSONError) in try text.jsonObject() }`.
public final class ReadTexts<Value: Sendable>: Sendable {
    private struct State {
        /// The texts are kept apart from the values, so that the search runs in code that is not generic.
        var texts = KnownTexts()
        var values: [Value] = []
        /// The index of the next eviction when the cache is full.
        var oldest = 0
        /// Hashes of texts that came once.
        var strangers = [Int](repeating: 0, count: 64)
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let longest: Int

    /// Makes a cache of up to `capacity` texts of up to `longest` bytes each.
    public init(capacity: Int = 16, longest: Int = 4096) {
        self.capacity = capacity
        self.longest = longest
    }

    /// Returns the cached value of `text`, or calls `read`. Errors are not cached.
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
            // Another thread may have added it.
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

/// The cached texts, by index.
private struct KnownTexts {
    private var texts: [[UInt8]] = []

    func place(of text: BorrowedText) -> Int? {
        for place in texts.indices where text.isSame(as: texts[place]) { return place }
        return nil
    }

    /// Stores a text at `place`, which is the index of an existing entry or the next one.
    mutating func put(_ text: BorrowedText, at place: Int) {
        if place < texts.count { texts[place] = [UInt8](text.bytes) } else { texts.append([UInt8](text.bytes)) }
    }
}

/// A cache of values parsed from recipients' lists, one for each recipient, valid until the list changes. Its size is
/// limited by the bytes of lists and values. Example: `try lists.value(of: text, for: call.recipient.string, parse)`.
public final class RecipientMemory<Value: Sendable>: Sendable {
    private struct Entry {
        let text: [UInt8]
        let value: Value
        /// The size in bytes, including the text.
        let weight: Int
    }

    private let entries: Mutex<BoundedCache<String, Entry>>
    private let room: Int
    private let weight: @Sendable (Value) -> Int

    /// Makes a cache of up to `room` bytes of lists and values; `weight` returns the size of a value.
    public init(room: Int = 32 << 20, weight: @escaping @Sendable (Value) -> Int = { _ in 0 }) {
        entries = Mutex(BoundedCache(capacity: room) { $0.weight })
        self.room = room
        self.weight = weight
    }

    /// Returns the cached value of the list `text` of `recipient`, or calls `read`.
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
