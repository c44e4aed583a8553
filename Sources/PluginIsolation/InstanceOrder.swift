import CarillonABI
import PluginProtocol
import PluginServices

/// A plugin's instance as its process is asked to make it, again after each restart.
struct InstanceOrder: Sendable {
    let number: UInt32
    /// The number of its library in the process.
    var library: UInt32
    let table: CreateMessage.Table
    let index: UInt32
    let configuration: String
    let host: HostPointer

    /// What its process is asked, with what is kept for it by now.
    func message(_ state: [StateEntry]) -> CreateMessage {
        CreateMessage(
            instance: number,
            library: library,
            table: table,
            index: index,
            configuration: configuration,
            inboundURL: host.inboundURL,
            state: state
        )
    }
}

/// The host's functions for one instance.
///
/// Unchecked: the struct never changes and is valid until the router ends, and its functions may be called on any
/// thread.
struct HostPointer: @unchecked Sendable {
    let pointer: UnsafePointer<carillon_host>

    func complete(_ ticket: UInt64, _ outcome: carillon_outcome) {
        withUnsafePointer(to: outcome) { pointer.pointee.complete?(pointer, ticket, $0) }
    }

    func complete(_ ticket: UInt64, _ kind: carillon_outcome_kind, reason: StaticString) {
        var outcome = carillon_outcome()
        outcome.struct_size = UInt32(MemoryLayout<carillon_outcome>.size)
        outcome.kind = kind
        outcome.reason = carillon_str(ptr: UnsafeRawPointer(reason.utf8Start), len: reason.utf8CodeUnitCount)
        complete(ticket, outcome)
    }

    /// The struct of a service; nil: the host does not offer it.
    func service<Table>(_ name: StaticString) -> UnsafePointer<Table>? {
        let name = carillon_str(ptr: UnsafeRawPointer(name.utf8Start), len: name.utf8CodeUnitCount)
        return pointer.pointee.query?(pointer, name)?.assumingMemoryBound(to: Table.self)
    }

    /// Where the instance is reached from outside; empty: nowhere.
    var inboundURL: String {
        let service: UnsafePointer<carillon_inbound>? = service("carillon.inbound/1")
        var url = ""
        withUnsafeMutablePointer(to: &url) { url in
            _ = service?.pointee.url?(pointer, keepText, url)
        }
        return url
    }
}

/// Keeps a value of the host's in the `String` at `context`.
private func keepText(_ context: UnsafeMutableRawPointer?, _ value: carillon_bytes) {
    context?.assumingMemoryBound(to: String.self).pointee = String(
        decoding: UnsafeRawBufferPointer(start: value.ptr, count: value.len),
        as: UTF8.self
    )
}

/// A question of a process: may an instance of it present this client certificate?
enum ClientCertificateQuestion {
    /// Asks the host of the instance, and sends what it says.
    static func answer(
        _ frame: Frame,
        from session: ChildSession,
        in table: InstanceTable
    ) throws(ProtocolError) {
        let message = try PresentMessage(reading: frame)
        let (status, said) =
            table.host(of: message.instance).map { present(message, $0) } ?? (.CARILLON_INVALID, "")
        var writer = FrameWriter()
        var text = said
        text.withUTF8 { text in
            _ = writer.frame(.reply, id: frame.id) { body in
                let text = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                AnswerMessage.write(status, text, to: &body)
            }
        }
        session.reply(writer.take())
    }

    private static func present(_ message: PresentMessage, _ host: HostPointer) -> (carillon_status, String) {
        let service: UnsafePointer<carillon_client_certificates>? = host.service("carillon.client-certificate/1")
        guard let present = service?.pointee.present else { return (.CARILLON_UNSUPPORTED, "") }
        return ErrorRoom.lend { present(host.pointer, message.connection, message.certificates, message.key, $0) }
    }
}
