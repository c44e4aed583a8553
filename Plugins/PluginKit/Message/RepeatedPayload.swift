import Glibc
import Synchronization

/// A cache of the last payload. An event for many devices becomes one notification that repeats, each time with another
/// id: the payload is made once, and only the id is replaced.
///
/// A payload is cached when two notifications in a row look alike. Most never repeat, and are never cached. Example:
/// `let payload = payloads.payload(of: notification) { makePayload(notification) }`.
public final class RepeatedPayload: Sendable {
    private final class Known: Sendable {
        /// The notification's content except its id.
        let form: [UInt8]
        let payload: [UInt8]
        /// The offset of the id in the payload; nil: the payload does not contain it.
        let place: Int?

        init(form: [UInt8], payload: [UInt8], place: Int?) {
            self.form = form
            self.payload = payload
            self.place = place
        }

        func payload(under id: BorrowedText) -> [UInt8] {
            guard let place else { return payload }
            var copy = payload
            copy.withUnsafeMutableBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: bytes[place..<place + id.count]).copyMemory(from: id.bytes)
            }
            return copy
        }
    }

    private struct State {
        var sketch: UInt64 = 0
        var known: Known?
    }

    private let state = Mutex(State())

    public init() {}

    /// Returns the payload of `notification`: the last one, if only the id differs, or the result of `make`. The
    /// payload must depend on nothing else. Errors are not cached.
    public func payload<Failure: Error>(
        of notification: borrowing Notification,
        _ make: () throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        let id = notification.id
        // An id in another format may change its length as JSON.
        guard MessageID.isCanonical(id) else { return try make() }
        if let known = state.withLock(\.known), notification.has(form: known.form) { return known.payload(under: id) }
        let sketch = notification.sketch
        let isAlike = state.withLock { state in
            defer { state.sketch = sketch }
            return state.sketch == sketch
        }
        guard isAlike else { return try make() }
        let payload = try make()
        let places = Self.places(of: id, in: payload)
        let isOnce = places.count < 2
        let remembered = Known(form: notification.form, payload: payload, place: places.first)
        state.withLock { $0.known = isOnce ? remembered : nil }
        return payload
    }

    /// The first two offsets of `id` in a payload.
    private static func places(of id: BorrowedText, in payload: [UInt8]) -> [Int] {
        var places: [Int] = []
        payload.withUnsafeBytes { bytes in
            var place = 0
            while places.count < 2, place + id.count <= bytes.count {
                if UnsafeRawBufferPointer(rebasing: bytes[place..<place + id.count]).equals(id.bytes) {
                    places.append(place)
                }
                place += 1
            }
        }
        return places
    }
}

extension Notification {
    /// A quick hash of a few bytes, which usually differs if the content differs.
    fileprivate var sketch: UInt64 {
        var sketch: UInt64 = 0
        forEachText { text in
            var end: UInt64 = 0
            if text.count >= 8 { end = text.bytes.loadUnaligned(fromByteOffset: text.count - 8, as: UInt64.self) }
            sketch = (sketch ^ end ^ UInt64(truncatingIfNeeded: text.count)) &* 0x9E37_79B9_7F4A_7C15
            sketch ^= sketch >> 32
        }
        return sketch
    }

    /// The content except the id.
    fileprivate var form: [UInt8] {
        var form: [UInt8] = []
        form.reserveCapacity(1_024)
        forEachPart { part in
            withUnsafeBytes(of: part.count) { form.append(contentsOf: $0) }
            form.append(contentsOf: part)
        }
        return form
    }

    /// Whether its ``form`` equals `form`.
    fileprivate func has(form: [UInt8]) -> Bool {
        form.withUnsafeBytes { form in
            let size = MemoryLayout<Int>.size
            var place = 0
            var isSame = true
            forEachPart { part in
                // Usually the first part that differs has another length.
                guard isSame, form.count - place >= size,
                    form.loadUnaligned(fromByteOffset: place, as: Int.self) == part.count,
                    form.count - place - size >= part.count
                else {
                    isSame = false
                    return
                }
                let start = place + size
                place = start + part.count
                isSame = part.isEmpty || UnsafeRawBufferPointer(rebasing: form[start..<place]).equals(part)
            }
            return isSame && place == form.count
        }
    }

    private func forEachPart(_ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeBytes(of: numbers, body)
        forEachText { body($0.bytes) }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard let mine = baseAddress, let theirs = other.baseAddress else { return isEmpty && other.isEmpty }
        return count == other.count && memcmp(mine, theirs, count) == 0
    }
}

/// The host's id of a message.
public enum MessageID {
    /// Whether it is 32 lower-case hex digits in groups of 8-4-4-4-12.
    public static func isCanonical(_ text: BorrowedText) -> Bool {
        let bytes = text.bytes
        guard bytes.count == 36 else { return false }
        let hyphen = UInt8(ascii: "-")
        guard bytes[8] == hyphen, bytes[13] == hyphen, bytes[18] == hyphen, bytes[23] == hyphen else { return false }
        // Reads the digits in words of eight, because this runs twice for each push.
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        func words(_ offset: Int, _ other: Int) -> UInt64 {
            let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return UInt64(first) << 32 | UInt64(bytes.loadUnaligned(fromByteOffset: other, as: UInt32.self))
        }
        let digits = areDigits(word(0)) & areDigits(words(9, 14)) & areDigits(words(19, 24)) & areDigits(word(28))
        return digits == 0x8080_8080_8080_8080
    }

    /// The highest bit of each byte that is a lower-case hex digit.
    private static func areDigits(_ word: UInt64) -> UInt64 {
        // Sums of bytes below 0x80 do not carry into the next byte.
        let low = word & 0x7f7f_7f7f_7f7f_7f7f
        let isFigure = (low &+ 0x5050_5050_5050_5050) & ~(low &+ 0x4646_4646_4646_4646)
        let isLetter = (low &+ 0x1f1f_1f1f_1f1f_1f1f) & ~(low &+ 0x1919_1919_1919_1919)
        return (isFigure | isLetter) & ~word & 0x8080_8080_8080_8080
    }
}
