import CarillonABI
import Core
import PluginProtocol
import Testing

/// A frame of a kind: how it is written, and how it is read and written again.
struct Sample: Sendable, CustomTestStringConvertible {
    let kind: FrameKind
    let id: UInt64
    let write: @Sendable (inout FrameWriter) -> Void
    let copy: @Sendable (Frame, inout FrameWriter) throws(ProtocolError) -> Void

    init(
        _ kind: FrameKind,
        id: UInt64,
        _ write: @escaping @Sendable (inout FrameWriter) -> Void,
        copy: @escaping @Sendable (Frame, inout FrameWriter) throws(ProtocolError) -> Void
    ) {
        self.kind = kind
        self.id = id
        self.write = write
        self.copy = copy
    }

    var testDescription: String { "\(kind)" }

    /// The whole frame.
    var bytes: [UInt8] {
        var writer = FrameWriter()
        writer.frame(kind, id: id, write)
        return writer.bytes
    }

    var body: [UInt8] { Array(bytes.dropFirst(Frame.headerSize)) }

    /// Decodes `body` as this kind, and encodes the result again.
    func reread(_ body: [UInt8]) throws(ProtocolError) -> [UInt8] {
        var writer = FrameWriter()
        let result = body.withUnsafeBytes { bytes in
            Result { () throws(ProtocolError) in try copy(Frame(kind: kind, id: id, body: bytes), &writer) }
        }
        try result.get()
        return writer.bytes
    }
}

extension carillon_str {
    init(_ text: StaticString) { self.init(ptr: text.utf8Start, len: text.utf8CodeUnitCount) }
}

/// Memory that is never given back, for structs of samples.
private func immortal<Element>(_ elements: [Element]) -> UnsafePointer<Element>? {
    let memory = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
    _ = memory.initialize(from: elements)
    return UnsafePointer(memory.baseAddress)
}

extension Sample {
    /// One of each kind.
    static let all: [Sample] = questions + deliveries + answers + results + streams

    private static var registration: carillon_registration {
        carillon_registration(
            struct_size: UInt32(MemoryLayout<carillon_registration>.size),
            reserved: 0,
            token: carillon_str("token"),
            fields: immortal([
                carillon_field(name: carillon_str("p256dh"), value: carillon_str("B...")),
                carillon_field(name: carillon_str("auth"), value: carillon_str("")),
            ]),
            field_count: 2,
            registered_unix_ms: 1_700_000_000_000
        )
    }

    private static var notification: carillon_notification {
        var notification = carillon_notification()
        notification.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
        notification.mode = .CARILLON_ALERT
        notification.urgency = .CARILLON_HIGH
        notification.count = 3
        notification.id = carillon_str("id")
        notification.signal = carillon_str("dm")
        notification.title = carillon_str("Title")
        notification.subtitle = carillon_str("Subtitle")
        notification.body = carillon_str("B\u{f6}dy")
        notification.category = carillon_str("category")
        notification.thread = carillon_str("thread")
        notification.collapse_key = carillon_str("key")
        notification.url = carillon_str("https://example.com/")
        notification.data = carillon_str("{}")
        notification.native = carillon_str("{\"a\":1}")
        notification.sealed = carillon_str("{\"c\":2}")
        notification.expires_unix_ms = 1_800_000_000_000
        let action = carillon_action(
            struct_size: UInt32(MemoryLayout<carillon_action>.size),
            reserved: 0,
            id: carillon_str("reply"),
            label: carillon_str("Reply"),
            url: carillon_str("app:reply"),
            icon: carillon_str("")
        )
        notification.actions = immortal([immortal([action])])
        notification.action_count = 1
        return notification
    }

    private static let questions = [
        Sample(.load, id: 1) {
            LoadMessage(
                path: "/lib/a.so",
                libraries: ["/lib/a.so", "/lib/b.so"],
                memoryLimit: 256 << 20,
                isSandboxed: true,
                isLast: false
            ).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try LoadMessage(reading: frame).write(to: &writer)
        },
        Sample(.create, id: 2) {
            var message = CreateMessage(instance: 7, library: 1, table: .filter, index: 3, configuration: "{}")
            message.inboundURL = "https://example.com/plugins/ios/a"
            message.state = [entry("key", "value")]
            message.write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try CreateMessage(reading: frame).write(to: &writer)
        },
        Sample(.destroy, id: 3) {
            InstanceMessage(instance: 7).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try InstanceMessage(reading: frame).write(to: &writer)
        },
        Sample(.validate, id: 4) {
            ValidateMessage.write(instance: 7, registration, to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let bytes = try ValidateMessage.read(frame) { instance, registration in
                var writer = FrameWriter()
                ValidateMessage.write(instance: instance, registration.pointee, to: &writer)
                return writer.bytes
            }
            writer.append(bytes)
        },
        Sample(.check, id: 5) {
            CheckMessage.write(library: 1, index: 2, carillon_str("{\"sound\":1}"), to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try CheckMessage(reading: frame)
            CheckMessage.write(library: message.library, index: message.index, message.block, to: &writer)
        },
        Sample(.decide, id: 6) { writer in
            var call = carillon_filter_call()
            call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
            call.zap_millisats = 21_000
            call.now_unix_ms = 1_700_000_000_001
            call.follow_distance = .CARILLON_DISTANCE_SECOND
            call.event = carillon_str("{\"kind\":1}")
            call.recipient = carillon_str("aa")
            call.signal = carillon_str("mention")
            call.author = carillon_str("bb")
            call.relation = carillon_str("reply")
            call.recipient_events = immortal([carillon_str("{\"kind\":3}")])
            call.recipient_event_count = 1
            withUnsafePointer(to: notification) { notification in
                call.notification = notification
                DecideMessage.write(instance: 8, call, to: &writer)
            }
        } copy: { frame, writer throws(ProtocolError) in
            let message = try DecideMessage(reading: frame)
            let bytes = message.withCStruct(edit: nil, set: { _, _, _ in .CARILLON_OK }) { call in
                var writer = FrameWriter()
                DecideMessage.write(instance: message.instance, call.pointee, to: &writer)
                return writer.bytes
            }
            writer.append(bytes)
        },
        Sample(.command, id: 7) { writer in
            let words = [carillon_str("channels"), carillon_str("list")]
            CommandMessage.write(instance: 7, words, count: 2, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try CommandMessage(reading: frame)
            CommandMessage.write(instance: message.instance, message.words, count: message.words.count, to: &writer)
        },
        Sample(.ping, id: 8) { _ in
        } copy: { frame, _ throws(ProtocolError) in
            try PingMessage.read(frame)
        },
        answer(.reply, id: 9, .CARILLON_INVALID, 0, "key: expected PEM"),
    ]

    private static let deliveries = [
        Sample(.deliver, id: 32) {
            DeliverMessage.write(instance: 7, registration, notification, to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let bytes = try DeliverMessage.read(frame) { instance, registration, notification in
                var writer = FrameWriter()
                DeliverMessage.write(instance: instance, registration.pointee, notification.pointee, to: &writer)
                return writer.bytes
            }
            writer.append(bytes)
        },
        Sample(.cancel, id: 33) {
            InstanceMessage(instance: 7).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try InstanceMessage(reading: frame).write(to: &writer)
        },
        Sample(.response, id: 34) { writer in
            var response = carillon_http_response()
            response.status = 200
            response.headers = immortal([carillon_field(name: carillon_str("apns-id"), value: carillon_str("1"))])
            response.header_count = 1
            response.body = carillon_str("{}")
            response.failure = carillon_str("tls")
            ResponseMessage.write(response, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try ResponseMessage(reading: frame)
            withUnsafeMutablePointer(to: &writer) { writer in
                message.withCStruct { ResponseMessage.write($0.pointee, to: &writer.pointee) }
            }
        },
        Sample(.stored, id: 3) {
            StoredMessage(instance: 7, isWhole: true, entries: [entry("a", "1"), entry("b", "")]).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try StoredMessage(reading: frame).write(to: &writer)
        },
        Sample(.deliverMany, id: 32) { writer in
            let frames = [UInt64(32), 33].map { ticket in
                (ticket, Sample.frame(ticket, instance: 7, registration, notification))
            }
            DeliverManyMessage.write(frames, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try DeliverManyMessage(reading: frame)
            let frames = message.withCStruct { deliveries in
                deliveries.compactMap { delivery -> (UInt64, [UInt8])? in
                    guard let registration = delivery.registration, let notification = delivery.notification
                    else { return nil }
                    let bytes = Sample.frame(
                        delivery.ticket,
                        instance: message.instance,
                        registration.pointee,
                        notification.pointee
                    )
                    return (delivery.ticket, bytes)
                }
            }
            DeliverManyMessage.write(frames, to: &writer)
        },
        Sample(.receive, id: 41) { writer in
            var request = carillon_inbound_request()
            request.method = carillon_str("POST")
            request.path = carillon_str("/hook")
            request.query = carillon_str("a=1")
            request.headers = immortal([carillon_field(name: carillon_str("x-id"), value: carillon_str("1"))])
            request.header_count = 1
            request.body = carillon_str("body")
            ReceiveMessage.write(instance: 7, request, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try ReceiveMessage(reading: frame)
            let bytes = message.withCStruct { request in
                var writer = FrameWriter()
                ReceiveMessage.write(instance: message.instance, request.pointee, to: &writer)
                return writer.bytes
            }
            writer.append(bytes)
        },
    ]

    private static func entry(_ key: String, _ value: String) -> StateEntry {
        StateEntry(key: Array(key.utf8), value: Array(value.utf8))
    }

    private static func frame(
        _ ticket: UInt64,
        instance: UInt32,
        _ registration: carillon_registration,
        _ notification: carillon_notification
    ) -> [UInt8] {
        var writer = FrameWriter()
        writer.frame(.deliver, id: ticket) {
            DeliverMessage.write(instance: instance, registration, notification, to: &$0)
        }
        return writer.take()
    }

    private static let answers = [
        Sample(.hello, id: 0) {
            HelloMessage(deliveries: 1000, questions: 1001).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try HelloMessage(reading: frame).write(to: &writer)
        },
        Sample(.loaded, id: 1) {
            var message = DescriptorMessage(
                id: "org.example.a",
                version: "1.0",
                abiMinor: 4,
                transports: [
                    .init(flags: 1, platform: "ios", document: "{}", functions: [.create, .deliver], manyLimit: 50)
                ],
                filters: [.init(flags: 2, name: "mutes", kinds: [3, 10_000], functions: [.decide])]
            )
            message.modules = [.init(name: "/lib/a.so", start: 0x7f00_0000_0000, size: 4096)]
            message.confinement = 3
            message.write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try DescriptorMessage(reading: frame).write(to: &writer)
        },
        Sample(.unloadable, id: 1) {
            UnloadableMessage(.otherMajor, number: 2, text: "text", confinement: 1).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try UnloadableMessage(reading: frame).write(to: &writer)
        },
        answer(.answered, id: 2, .CARILLON_OK, 4, ""),
        Sample(.decided, id: 6) {
            let edits = [(field: Array("reason".utf8), value: Array("muted".utf8))]
            DecidedMessage.write(.CARILLON_OK, decision: 1, edits: edits, to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try DecidedMessage(reading: frame)
            DecidedMessage.write(
                message.status,
                decision: message.decision.rawValue,
                edits: message.edits.map { (contents($0.name), contents($0.value)) },
                to: &writer
            )
        },
        Sample(.pong, id: 8) {
            PongMessage(
                deliveries: .init(thread: 1000, kind: 32, id: 32, milliseconds: 12),
                questions: .init(thread: 1001, kind: 0, id: 0, milliseconds: 0)
            ).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try PongMessage(reading: frame).write(to: &writer)
        },
        Sample(.present, id: 1) {
            PresentMessage.write(
                instance: 7,
                connection: carillon_str("word"),
                certificates: carillon_str("CERTIFICATE"),
                key: carillon_str("KEY"),
                to: &$0
            )
        } copy: { frame, writer throws(ProtocolError) in
            let message = try PresentMessage(reading: frame)
            PresentMessage.write(
                instance: message.instance,
                connection: message.connection,
                certificates: message.certificates,
                key: message.key,
                to: &writer
            )
        },
    ]

    private static let results = [
        Sample(.refused, id: 32) {
            RefusedMessage.write(instance: 7, .CARILLON_UNSUPPORTED, to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try RefusedMessage(reading: frame)
            RefusedMessage.write(instance: message.instance, message.status, to: &writer)
        },
        Sample(.completed, id: 32) { writer in
            var outcome = carillon_outcome()
            outcome.kind = .CARILLON_RETRY
            outcome.provider_status = 429
            outcome.retry_after_ms = 1500
            outcome.reason = carillon_str("too-many-requests")
            outcome.scope = .CARILLON_SCOPE_HOST
            OutcomeMessage.write(instance: 7, outcome, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try OutcomeMessage(reading: frame)
            OutcomeMessage.write(instance: message.instance, message.outcome, to: &writer)
        },
        Sample(.request, id: 34) { writer in
            var request = carillon_http_request()
            request.flags = 1
            request.method = carillon_str("POST")
            request.url = carillon_str("https://example.com/")
            request.headers = immortal([carillon_field(name: carillon_str("ttl"), value: carillon_str("60"))])
            request.header_count = 1
            request.body = carillon_str("body")
            request.timeout_ms = 30_000
            request.max_response_bytes = 1024
            request.connection = carillon_str("word")
            RequestMessage.write(instance: 7, ticket: 32, request, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try RequestMessage(reading: frame)
            let bytes = message.withCStruct { request in
                var writer = FrameWriter()
                RequestMessage.write(
                    instance: message.instance,
                    ticket: message.ticket,
                    request.pointee,
                    to: &writer
                )
                return writer.bytes
            }
            writer.append(bytes)
        },
        Sample(.log, id: 0) {
            LogMessage.write(instance: 7, .CARILLON_WARNING, carillon_str("line"), to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try LogMessage(reading: frame)
            LogMessage.write(instance: message.instance, message.level, message.text, to: &writer)
        },
        Sample(.mistake, id: 0) {
            ViolationMessage(instance: 7, .request, text: "done is NULL").write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try ViolationMessage(reading: frame).write(to: &writer)
        },
        Sample(.store, id: 4) {
            StoreMessage(instance: 7, entry: entry("key", "value")).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            try StoreMessage(reading: frame).write(to: &writer)
        },
        Sample(.received, id: 41) { writer in
            var answer = carillon_inbound_answer()
            answer.status = 200
            answer.headers = immortal([carillon_field(name: carillon_str("x-id"), value: carillon_str("1"))])
            answer.header_count = 1
            answer.body = carillon_str("ok")
            ReceivedMessage.write(instance: 7, answer, to: &writer)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try ReceivedMessage(reading: frame)
            withUnsafeMutablePointer(to: &writer) { writer in
                message.withCStruct { answer in
                    guard message.status == .CARILLON_OK else {
                        return ReceivedMessage.write(
                            instance: message.instance,
                            refusal: message.status,
                            to: &writer.pointee
                        )
                    }
                    ReceivedMessage.write(instance: message.instance, answer.pointee, to: &writer.pointee)
                }
            }
        },
    ]

    private static func answer(
        _ kind: FrameKind,
        id: UInt64,
        _ status: carillon_status,
        _ number: UInt32,
        _ text: StaticString
    ) -> Sample {
        Sample(kind, id: id) {
            AnswerMessage.write(status, number: number, carillon_str(text), to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try AnswerMessage(reading: frame)
            AnswerMessage.write(message.status, number: message.number, message.text, to: &writer)
        }
    }
}

/// The bytes that a text of a frame points to.
func contents(_ text: carillon_str) -> [UInt8] { Array(UnsafeRawBufferPointer(start: text.ptr, count: text.len)) }
