import CarillonABI

/// The kind of a frame. `contrib/docs/plugin-protocol.md` specifies the bodies.
package enum FrameKind: UInt16, CaseIterable, Sendable {
    // From the router to the child, over the socket of questions.
    case load = 1
    case create = 2
    case destroy = 3
    case validate = 4
    case check = 5
    case decide = 6
    case command = 7
    case ping = 8
    /// The response to a question of the child.
    case reply = 9

    // From the router to the child, over the socket of deliveries.
    case deliver = 32
    case cancel = 33
    case response = 34
    // Streams.
    case streamOpened = 35
    case streamReceived = 36
    /// How many bytes have been sent.
    case streamDrained = 37
    case streamClosed = 38
    // Values stored for an instance.
    case stored = 39
    // Deliveries that one request can carry, and requests from clients.
    case deliverMany = 40
    case receive = 41

    // From the child to the router, over the socket of questions.
    case hello = 64
    case loaded = 65
    case unloadable = 66
    case answered = 67
    case decided = 68
    case pong = 69
    /// A question of the child: may it present this client certificate?
    case present = 70

    // From the child to the router, over the socket of deliveries.
    case refused = 96
    case completed = 97
    case request = 98
    case log = 99
    /// The plugin broke a rule. The child has already returned an error; the router counts it.
    case mistake = 100
    // Streams.
    case streamOpen = 101
    case streamWrite = 102
    case streamStartTLS = 103
    /// The plugin closes a stream, or was notified that it is closed.
    case streamClose = 104
    /// How many of the received bytes the plugin has taken.
    case streamTaken = 105
    // A value to store for an instance.
    case store = 106
    // The response to a request from a client.
    case received = 107

    /// The maximum length of the body in bytes. A receiver ends the connection as soon as a header exceeds it.
    package var limit: Int {
        switch self {
        case .loaded, .decide, .decided, .deliver, .deliverMany, .create: 4 << 20
        case .response: (1 << 20) + (256 << 10)
        case .request: (1 << 20) + (44 << 10)
        case .answered, .command: (1 << 20) + 64
        case .receive, .received: (256 << 10) + (64 << 10)
        case .present: (256 << 10) + (64 << 10) + 256
        case .validate, .check, .load: 256 << 10
        case .stored: 320 << 10
        case .store: 17 << 10
        case .unloadable: 16 << 10
        case .log, .reply: 4 << 10
        case .hello, .pong, .completed, .mistake: 512
        case .destroy, .ping, .cancel, .refused: 16
        case .streamOpen: (256 << 10) + 512
        case .streamWrite: (1 << 20) + 4
        case .streamReceived: (64 << 10) + 4
        case .streamClosed: 64
        case .streamOpened, .streamDrained, .streamStartTLS, .streamClose, .streamTaken: 16
        }
    }

    /// Kinds that the router sends over the socket of questions.
    package static let questions: Set<FrameKind> = [
        .load, .create, .destroy, .validate, .check, .decide, .command, .ping, .reply,
    ]
    /// Kinds that the router sends over the socket of deliveries.
    package static let deliveries: Set<FrameKind> = [
        .deliver, .cancel, .response, .stored, .deliverMany, .receive,
        .streamOpened, .streamReceived, .streamDrained, .streamClosed,
    ]
    /// Kinds that the child sends over the socket of questions.
    package static let answers: Set<FrameKind> = [
        .hello, .loaded, .unloadable, .answered, .decided, .pong, .present,
    ]
    /// Kinds that the child sends over the socket of deliveries.
    package static let results: Set<FrameKind> = [
        .refused, .completed, .request, .log, .mistake, .store, .received,
        .streamOpen, .streamWrite, .streamStartTLS, .streamClose, .streamTaken,
    ]
}

/// One message between router and child.
package struct Frame {
    package let kind: FrameKind
    /// The question, delivery or request that it is about.
    package let id: UInt64
    /// The contents, valid until the buffer that holds them changes.
    package let body: UnsafeRawBufferPointer

    package static let headerSize = 16

    /// A frame around a body at any address.
    package init(kind: FrameKind, id: UInt64, body: UnsafeRawBufferPointer) {
        self.kind = kind
        self.id = id
        self.body = body
    }

    /// Sets the id of a complete frame, for example when it is sent again.
    package static func set(_ id: UInt64, of frame: inout [UInt8]) {
        precondition(frame.count >= headerSize, "no frame is shorter than its header")
        frame.withUnsafeMutableBytes { $0.storeBytes(of: id.littleEndian, toByteOffset: 8, as: UInt64.self) }
    }

    /// A reader of the body.
    package var fields: FieldReader { FieldReader(body) }
}

/// An invalid frame or field. The other side is broken or hostile, so the connection must be closed.
package enum ProtocolError: Error, Equatable {
    case unknownKind(UInt32)
    case tooLong(FrameKind, bytes: Int)
    /// A kind that this side does not accept, or not now.
    case unexpected(FrameKind)
    /// A body that ends before its last field, or continues after it.
    case malformed(FrameKind)
    /// A field that extends beyond the body.
    case cutShort
    /// More elements than a list may have.
    case tooMany
    /// A number without a meaning.
    case unknownValue
    /// The child speaks another version of the protocol than ``HelloMessage/version``.
    case otherVersion(UInt32)
}

extension ProtocolError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownKind(let kind): "it sent a frame of the unknown kind \(kind)"
        case .tooLong(let kind, let bytes):
            "it sent a frame \(kind) of \(bytes) bytes, more than the \(kind.limit) allowed"
        case .unexpected(let kind): "it sent a frame \(kind), which was not expected"
        case .malformed(let kind): "it sent a frame \(kind) with too many or too few fields"
        case .cutShort: "it sent a frame with a truncated field"
        case .tooMany: "it sent a list with too many elements"
        case .unknownValue: "it sent an invalid number"
        case .otherVersion(let version):
            "it uses version \(version) of the protocol, not \(HelloMessage.version): both sides must come from the "
                + "same release"
        }
    }
}

/// A buffer of received bytes that are not handled yet. It owns its memory.
///
/// Unchecked: no other value refers to that memory.
package struct FrameBuffer: ~Copyable, @unchecked Sendable {
    /// Capacity beyond this is released when it is no longer needed.
    private static let keptCapacity = 512 << 10

    private var room: UnsafeMutableRawBufferPointer
    /// Where the received and not yet drained bytes start; they end at `end`.
    private var start = 0
    private var end = 0
    /// Whether this side accepts the kind, by its number.
    private let isTaken: [Bool]

    /// A buffer for frames of `kinds`; every other kind is an error.
    package init(taking kinds: Set<FrameKind>) {
        let last = kinds.map(\.rawValue).max() ?? 0
        isTaken = (0...last).map { number in FrameKind(rawValue: number).map(kinds.contains) ?? false }
        room = .allocate(byteCount: 0, alignment: 8)
    }

    deinit { room.deallocate() }

    /// The number of bytes that have not been drained.
    package var pending: Int { end - start }

    /// Lets `read` write up to `most` bytes, and returns the result of `read`: the bytes written, or 0 or less if none.
    package mutating func receive(_ most: Int, _ read: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        makeRoom(most)
        let count = read(UnsafeMutableRawBufferPointer(rebasing: room[end..<end + most]))
        precondition(count <= most, "no more is read than there is room for")
        end += max(0, count)
        return count
    }

    /// Adds received bytes.
    package mutating func append(_ received: UnsafeRawBufferPointer) {
        _ = receive(received.count) { room in
            room.copyMemory(from: received)
            return received.count
        }
    }

    private mutating func makeRoom(_ most: Int) {
        let needed = pending + most
        let isExcessive = room.count > max(needed, Self.keptCapacity)
        guard start > 0 || room.count < needed || isExcessive else { return }
        let waiting = UnsafeRawBufferPointer(rebasing: room[start..<end])
        if room.count < needed || isExcessive {
            let new = UnsafeMutableRawBufferPointer.allocate(byteCount: needed, alignment: 8)
            new.copyMemory(from: waiting)
            room.deallocate()
            room = new
        } else {
            room.copyMemory(from: waiting)
        }
        (start, end) = (0, waiting.count)
    }

    /// Calls `body` with each complete frame. Its memory is valid until `body` returns.
    ///
    /// - Throws: The error of a frame as soon as its header has arrived, or an error of `body`.
    package mutating func drain(_ body: (Frame) throws(ProtocolError) -> Void) throws(ProtocolError) {
        while let (kind, id, length) = try header() {
            let from = start + Frame.headerSize
            guard end - from >= length else { return }
            start = from + length
            try body(Frame(kind: kind, id: id, body: UnsafeRawBufferPointer(rebasing: room[from..<start])))
        }
    }

    private func header() throws(ProtocolError) -> (kind: FrameKind, id: UInt64, length: Int)? {
        guard pending >= Frame.headerSize else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: room[start..<end])
        let length = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let id = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        guard let word = UInt16(exactly: number), let kind = FrameKind(rawValue: word) else {
            throw .unknownKind(number)
        }
        guard Int(word) < isTaken.count, isTaken[Int(word)] else { throw .unexpected(kind) }
        guard length <= kind.limit else { throw .tooLong(kind, bytes: Int(length)) }
        return (kind, id, Int(length))
    }
}
