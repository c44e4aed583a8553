import CarillonABI
import Core

/// `store`: the plugin sets a value, or removes it with an empty one. The frame's id is the number of the change, from
/// 1 for each instance.
package struct StoreMessage: Equatable {
    package var instance: UInt32
    package var entry: StateEntry

    package init(instance: UInt32, entry: StateEntry) {
        self.instance = instance
        self.entry = entry
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(instance)
        writer.entry(entry)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        entry = try fields.entry()
        try fields.end(frame.kind)
    }
}

/// `stored`: values that changed elsewhere, or all of them. The frame's id is the last change of the instance that the
/// router has processed.
package struct StoredMessage: Equatable {
    package var instance: UInt32
    /// Whether `entries` are all values of the instance.
    package var isWhole: Bool
    package var entries: [StateEntry]

    package init(instance: UInt32, isWhole: Bool, entries: [StateEntry]) {
        self.instance = instance
        self.isWhole = isWhole
        self.entries = entries
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(isWhole ? UInt32(1) : 0)
        writer.entries(entries)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        isWhole = try fields.number32() != 0
        entries = try fields.entries()
        try fields.end(frame.kind)
    }
}

extension FrameWriter {
    fileprivate mutating func entry(_ entry: StateEntry) {
        text(entry.key)
        text(entry.value)
    }

    /// A list of keys and values.
    mutating func entries(_ entries: [StateEntry]) {
        number(UInt32(clamping: entries.count))
        for entry in entries { self.entry(entry) }
    }
}

extension FieldReader {
    fileprivate mutating func entry() throws(ProtocolError) -> StateEntry {
        let entry = StateEntry(key: try bytes(), value: try bytes())
        guard entry.isWithinLimits else { throw .unknownValue }
        return entry
    }

    private mutating func bytes() throws(ProtocolError) -> [UInt8] {
        let text = try text()
        return Array(UnsafeRawBufferPointer(start: text.ptr, count: text.len))
    }

    /// A list of keys and values within their limits.
    mutating func entries() throws(ProtocolError) -> [StateEntry] {
        var entries: [StateEntry] = []
        for _ in 0..<(try count(limit: StateValues.countLimit)) { entries.append(try entry()) }
        return entries
    }
}
