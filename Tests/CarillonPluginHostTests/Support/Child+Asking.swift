import CarillonABI
import Core
import PluginProtocol
import Testing

extension Child {
    /// Loads a library and returns the process's description of it and its sandbox.
    func load(
        _ path: String,
        among libraries: [String]? = nil,
        isSandboxed: Bool = true,
        isLast: Bool = true
    ) throws -> DescriptorMessage {
        let message = LoadMessage(
            path: path,
            libraries: libraries ?? [path],
            memoryLimit: 256 << 20,
            isSandboxed: isSandboxed,
            isLast: isLast
        )
        ask(.load, id: 1) { message.write(to: &$0) }
        return try answer(.loaded).read { try DescriptorMessage(reading: $0) }
    }

    /// Returns the reason why the process does not load a library.
    func refusal(of path: String) throws -> UnloadableMessage {
        let message = LoadMessage(path: path, libraries: [path], memoryLimit: 0, isSandboxed: true, isLast: true)
        ask(.load, id: 1) { message.write(to: &$0) }
        return try answer(.unloadable).read { try UnloadableMessage(reading: $0) }
    }

    /// Returns a process that has loaded the fixture, with an instance 1 of its transport.
    static func guest(_ configuration: String = "{}") throws -> Child {
        let child = try Child()
        _ = try child.load(Guest.library())
        #expect(try child.create(1, configuration).status == .CARILLON_OK)
        return child
    }

    func create(
        _ instance: UInt32,
        _ configuration: String = "{}",
        library: UInt32 = 0,
        table: CreateMessage.Table = .transport,
        index: UInt32 = 0,
        state: [StateEntry] = []
    ) throws -> Answer {
        var message = CreateMessage(
            instance: instance,
            library: library,
            table: table,
            index: index,
            configuration: configuration
        )
        message.state = state
        ask(.create, id: 100 + UInt64(instance)) { message.write(to: &$0) }
        return try answered(100 + UInt64(instance))
    }

    struct Answer: Equatable {
        var status: carillon_status
        var number: UInt32 = 0
        var text = ""
    }

    func answered(_ id: UInt64) throws -> Answer {
        let received = try answer(.answered)
        #expect(received.id == id)
        return try received.read { frame in
            let message = try AnswerMessage(reading: frame)
            return Answer(status: message.status, number: message.number, text: text(message.text))
        }
    }

    /// Sends a delivery whose title names the fixture's behavior.
    func deliver(_ ticket: UInt64, _ title: String, to device: Device = Device(), instance: UInt32 = 1) {
        send { $0.deliver(ticket, title, to: device, instance: instance) }
    }

    /// Returns the next outcome and its delivery.
    func completed() throws -> (ticket: UInt64, reason: String) {
        let received = try result(.completed)
        return try received.read { (received.id, text(try OutcomeMessage(reading: $0).outcome.reason)) }
    }
}

/// The target of a delivery.
struct Device {
    var token = "token"
    var fields: [String: String] = [:]
}

extension FrameWriter {
    mutating func deliver(_ ticket: UInt64, _ title: String, to device: Device = Device(), instance: UInt32 = 1) {
        frame(.deliver, id: ticket) { writer in
            withCStrings([title, "Body", "{}", device.token] + device.fields.flatMap { [$0.key, $0.value] }) { texts in
                var notification = carillon_notification()
                notification.mode = .CARILLON_ALERT
                notification.urgency = .CARILLON_NORMAL
                notification.count = 1
                notification.title = texts[0]
                notification.body = texts[1]
                notification.data = texts[2]
                let fields = stride(from: 4, to: texts.count, by: 2).map {
                    carillon_field(name: texts[$0], value: texts[$0 + 1])
                }
                fields.withUnsafeBufferPointer { fields in
                    var registration = carillon_registration()
                    registration.token = texts[3]
                    registration.fields = fields.baseAddress
                    registration.field_count = fields.count
                    DeliverMessage.write(instance: instance, registration, notification, to: &writer)
                }
            }
        }
    }

    /// Writes a response to the request of that number.
    mutating func respond(_ number: UInt64, status: UInt32, _ body: String = "", failure: String = "") {
        frame(.response, id: number) { writer in
            withCStrings([body, failure, "name", "value"]) { texts in
                var response = carillon_http_response()
                response.status = status
                response.body = texts[0]
                response.failure = texts[1]
                withUnsafePointer(to: carillon_field(name: texts[2], value: texts[3])) { field in
                    response.headers = field
                    response.header_count = 1
                    ResponseMessage.write(response, to: &writer)
                }
            }
        }
    }
}

/// Calls `body` with the strings as the ABI represents them.
func withCStrings<Result>(_ texts: [String], _ body: ([carillon_str]) throws -> Result) rethrows -> Result {
    let bytes = Array(texts.joined().utf8)
    return try bytes.withUnsafeBytes { bytes in
        var start = 0
        let strings = texts.map { text in
            let count = text.utf8.count
            defer { start += count }
            return carillon_str(ptr: bytes.baseAddress.map { $0 + start }, len: count)
        }
        return try body(strings)
    }
}

/// Returns a string of a frame.
func text(_ text: carillon_str) -> String {
    String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
}
