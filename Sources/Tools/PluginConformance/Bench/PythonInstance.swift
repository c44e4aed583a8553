import CarillonABI
import Core
import PluginHost
import PluginProtocol

/// An instance of a Python plugin, wrapped in functions with the signatures of the ABI. Their arguments go to the
/// process as frames.
final class PythonInstance: Sendable {
    private let instance: IsolatedInstance

    fileprivate init(_ instance: IsolatedInstance) { self.instance = instance }

    private static func at(_ pointer: UnsafeMutableRawPointer?) -> IsolatedInstance? {
        pointer.map { Unmanaged<PythonInstance>.fromOpaque($0).takeUnretainedValue().instance }
    }

    /// The pointer is invalid afterwards.
    static func destroy(_ pointer: UnsafeMutableRawPointer?) {
        guard let pointer else { return }
        Unmanaged<PythonInstance>.fromOpaque(pointer).takeRetainedValue().instance.destroy()
    }

    static func deliver(
        _ pointer: UnsafeMutableRawPointer?,
        _ ticket: UInt64,
        _ registration: UnsafePointer<carillon_registration>?,
        _ notification: UnsafePointer<carillon_notification>?
    ) -> carillon_status {
        guard let instance = at(pointer), let registration, let notification else { return .CARILLON_INVALID }
        return instance.deliver([ticket]) { _, writer in
            RegistrationMessage.write(registration.pointee, to: &writer)
            NotificationMessage.write(notification.pointee, to: &writer)
        }
    }

    static func deliverMany(
        _ pointer: UnsafeMutableRawPointer?,
        _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        _ count: Int
    ) -> carillon_status {
        guard let instance = at(pointer), let deliveries else { return .CARILLON_INVALID }
        let all = UnsafeBufferPointer(start: deliveries, count: count).compactMap { $0?.pointee }
        return instance.deliver(all.map(\.ticket)) { index, writer in
            if let registration = all[index].registration {
                RegistrationMessage.write(registration.pointee, to: &writer)
            }
            if let notification = all[index].notification {
                NotificationMessage.write(notification.pointee, to: &writer)
            }
        }
    }

    static func receive(
        _ pointer: UnsafeMutableRawPointer?,
        _ request: UnsafePointer<carillon_inbound_request>?,
        _ done: carillon_inbound_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let instance = at(pointer), let request, let done else { return .CARILLON_INVALID }
        let caller = Caller(function: done, context: context)
        return instance.receive { writer in
            ReceiveMessage.write(request.pointee, to: &writer)
        } done: { reply in
            switch reply {
            case .received(let message): message.withCStruct { caller.function(caller.context, $0) }
            case .failed:
                var answer = carillon_inbound_answer()
                answer.struct_size = UInt32(MemoryLayout<carillon_inbound_answer>.size)
                answer.status = 502
                caller.function(caller.context, &answer)
            }
        }
    }

    static func cancel(_ pointer: UnsafeMutableRawPointer?, _ ticket: UInt64) { at(pointer)?.cancel(ticket) }

    static func validate(
        _ pointer: UnsafeMutableRawPointer?,
        _ registration: UnsafePointer<carillon_registration>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let instance = at(pointer), let registration else { return .CARILLON_INVALID }
        let reply = instance.validate { RegistrationMessage.write(registration.pointee, to: &$0) }
        ErrorBuffer.write(reply.text, to: error)
        return reply.status
    }

    static func command(
        _ pointer: UnsafeMutableRawPointer?,
        _ words: UnsafePointer<carillon_str>?,
        _ count: Int,
        _ done: carillon_command_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let instance = at(pointer), let done else { return .CARILLON_INVALID }
        let caller = Caller(function: done, context: context)
        return instance.command { writer in
            writer.texts(words, count: count)
        } done: { reply in
            switch reply {
            case .answered(let status, let text): caller.function(caller.context, status, text)
            case .refused(let status): caller.say(status, TransportInstance.words(for: status))
            case .failed(let text): caller.say(.CARILLON_FAILED, text)
            }
        }
    }

    static func decide(
        _ pointer: UnsafeMutableRawPointer?,
        _ call: UnsafePointer<carillon_filter_call>?,
        _ decision: UnsafeMutablePointer<carillon_verdict>?
    ) -> carillon_status {
        guard var batch = at(pointer)?.decisions(), let call, let decision else { return .CARILLON_INVALID }
        batch.add { DecideMessage.write(call.pointee, to: &$0) }
        let status = batch.ask().first?.read { decided in
            for edit in decided.edits { _ = call.pointee.set?(call.pointee.edit, edit.name, edit.value) }
            decision.pointee = decided.decision
            return decided.status
        }
        return status ?? .CARILLON_FAILED
    }

    static func needs(_ pointer: UnsafeMutableRawPointer?) -> UInt32 { at(pointer)?.needs ?? 0 }

    /// A callback for an answer, with its context.
    ///
    /// Unchecked: the context is not dereferenced here.
    private struct Caller<Function>: @unchecked Sendable {
        let function: Function
        let context: UnsafeMutableRawPointer?

        func say(_ status: carillon_status, _ text: String) where Function == carillon_command_done {
            var text = text
            text.withUTF8 { text in
                function(context, status, carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count))
            }
        }
    }
}

/// A transport or a filter of a Python plugin.
struct PythonEntry: Sendable {
    let plugin: PythonPlugin
    let table: CreateMessage.Table
    let index: Int

    func create(
        _ host: UnsafePointer<carillon_host>?,
        _ config: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let host, let check = checkHost(of: host) else { return .CARILLON_INVALID }
        let (reply, made) = plugin.plugin.create(
            table,
            at: index,
            configuration: Self.text(config),
            for: PythonHost(check, host)
        )
        guard let made else {
            ErrorBuffer.write(reply.text, to: error)
            return reply.status
        }
        instance?.pointee = Unmanaged.passRetained(PythonInstance(made)).toOpaque()
        return .CARILLON_OK
    }

    func check(_ block: carillon_str, _ error: UnsafeMutablePointer<carillon_error>?) -> carillon_status {
        let reply = plugin.plugin.check(transport: index, Self.text(block))
        ErrorBuffer.write(reply.text, to: error)
        return reply.status
    }

    private static func text(_ text: carillon_str) -> String {
        String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
    }
}

/// Forwards the reports and requests of a Python plugin's process to the checks' host.
///
/// Unchecked: the host's table never changes.
private final class PythonHost: InstanceHost, @unchecked Sendable {
    private typealias Done = @Sendable (WriteResponse) -> Void

    private final class OpenRequest: Sendable {
        let done: Done

        init(_ done: @escaping Done) { self.done = done }
    }

    private let host: CheckHost
    private let table: UnsafePointer<carillon_host>

    init(_ host: CheckHost, _ table: UnsafePointer<carillon_host>) {
        self.host = host
        self.table = table
    }

    /// The struct of a service; nil: the host does not offer it.
    private func service<Table>(_ name: StaticString, as _: Table.Type) -> Table? {
        let name = carillon_str(ptr: UnsafeRawPointer(name.utf8Start), len: name.utf8CodeUnitCount)
        return host.service(name)?.assumingMemoryBound(to: Table.self).pointee
    }

    var inboundURL: String? {
        guard let service = service("carillon.inbound/1", as: carillon_inbound.self) else { return nil }
        var url = ""
        withUnsafeMutablePointer(to: &url) { url in
            _ = service.url?(
                table,
                { context, value in
                    context?.assumingMemoryBound(to: String.self).pointee = String(
                        decoding: UnsafeRawBufferPointer(start: value.ptr, count: value.len),
                        as: UTF8.self
                    )
                },
                url
            )
        }
        return url
    }

    func complete(_ ticket: UInt64, _ outcome: carillon_outcome) {
        withUnsafePointer(to: outcome) { checkComplete(table, ticket, $0) }
    }

    func logLine(_ level: carillon_log_level, _ line: carillon_str) { checkLog(table, level, line) }

    func note(_: ViolationMessage.Rule, _: String) {}

    func send(_ request: RequestMessage, done: @escaping @Sendable (WriteResponse) -> Void) -> carillon_status {
        let context = Unmanaged.passRetained(OpenRequest(done))
        let status = request.withCStruct { request in
            host.take(
                request,
                { context, response in
                    guard let context, let response else { return }
                    let request = Unmanaged<OpenRequest>.fromOpaque(context).takeRetainedValue()
                    request.done { ResponseMessage.write(response.pointee, to: &$0) }
                },
                context.toOpaque()
            )
        }
        if status != .CARILLON_OK { context.release() }
        return status
    }

    func present(_ certificate: PresentMessage) -> (status: carillon_status, text: String) {
        guard let service = service("carillon.client-certificate/1", as: carillon_client_certificates.self) else {
            return (.CARILLON_UNSUPPORTED, "")
        }
        let refusal = RefusedCall {
            service.present?(table, certificate.connection, certificate.certificates, certificate.key, $0)
                ?? .CARILLON_UNSUPPORTED
        }
        return (refusal.status, refusal.said)
    }

    func openStream(_: StreamOpenMessage, _: any StreamReceiver) -> StreamOpening { .refused(.CARILLON_UNSUPPORTED) }

    func willRemake() {}

    func openState(_: @escaping StateChange.Listener) -> [StateEntry] { [] }

    func store(_: StateEntry, change _: UInt64) {}

    func refreshState() {}
}

/// A plugin's buffer for an error message.
enum ErrorBuffer {
    /// Writes as much of `text` as fits.
    static func write(_ text: String, to error: UnsafeMutablePointer<carillon_error>?) {
        guard let error, let room = error.pointee.buf, error.pointee.capacity > 0 else { return }
        let bytes = text.utf8.prefix(error.pointee.capacity)
        for (index, byte) in bytes.enumerated() { room[index] = CChar(bitPattern: byte) }
        error.pointee.len = bytes.count
    }
}
