import CarillonABI

/// What a frame says. `contrib/docs/plugin-protocol.md` has the bodies.
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
    /// The answer to a question of the child.
    case reply = 9

    // From the router to the child, over the socket of deliveries.
    case deliver = 32
    case cancel = 33
    case response = 34
    // Streams.
    case streamOpened = 35
    case streamReceived = 36
    /// How much has been sent.
    case streamDrained = 37
    case streamClosed = 38
    // What is kept for an instance.
    case stored = 39
    // Deliveries that one request can carry, and requests from outside.
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
    /// The plugin broke a rule, which the child has already answered; the router counts it.
    case mistake = 100
    // Streams.
    case streamOpen = 101
    case streamWrite = 102
    case streamStartTLS = 103
    /// The plugin closes a stream, or has been told that it is closed.
    case streamClose = 104
    /// How much the plugin has taken of what was received.
    case streamTaken = 105
    // What is kept for an instance.
    case store = 106
    // The answer to a request from outside.
    case received = 107

    /// The longest body, in bytes. Whoever receives more ends the connection before it waits for the rest.
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
    /// What it says, valid as long as the buffer that it was taken from is not changed.
    package let body: UnsafeRawBufferPointer

    package static let headerSize = 16

    /// A frame around a body that lies anywhere.
    package init(kind: FrameKind, id: UInt64, body: UnsafeRawBufferPointer) {
        self.kind = kind
        self.id = id
        self.body = body
    }

    /// Gives a whole frame another id, as when it is sent again.
    package static func set(_ id: UInt64, of frame: inout [UInt8]) {
        precondition(frame.count >= headerSize, "no frame is shorter than its header")
        frame.withUnsafeMutableBytes { $0.storeBytes(of: id.littleEndian, toByteOffset: 8, as: UInt64.self) }
    }

    /// A reader of the body.
    package var fields: FieldReader { FieldReader(body) }
}

/// A frame, or a field of one, that the other side cannot have meant: it is broken or hostile, and is to be ended.
package enum ProtocolError: Error, Equatable {
    case unknownKind(UInt32)
    case tooLong(FrameKind, bytes: Int)
    /// A kind that this side does not take, or not now.
    case unexpected(FrameKind)
    /// A body that ends before its last field, or goes on behind it.
    case malformed(FrameKind)
    /// A body that a field would reach beyond.
    case cutShort
    /// More elements than a list may have.
    case tooMany
    /// A number that means nothing.
    case unknownValue
    /// The child speaks another version of the protocol than ``HelloMessage/version``.
    case otherVersion(UInt32)
}

extension ProtocolError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownKind(let kind): "it sent a frame of the unknown kind \(kind)"
        case .tooLong(let kind, let bytes):
            "it sent a frame \(kind) of \(bytes) bytes, more than the \(kind.limit) that one may have"
        case .unexpected(let kind): "it sent a frame \(kind), which nobody waits for"
        case .malformed(let kind): "it sent a frame \(kind) with more or fewer fields than it has"
        case .cutShort: "it sent a frame with a field that goes beyond its end"
        case .tooMany: "it sent a list with more elements than are allowed"
        case .unknownValue: "it sent a number that means nothing"
        case .otherVersion(let version):
            "it speaks version \(version) of the protocol, not \(HelloMessage.version): both sides must come from the "
                + "same release"
        }
    }
}
