public import CarillonABI
import Synchronization

/// One transport of a plugin: its platform and the C function that creates it.
public struct TransportEntry {
    /// The type of the ABI's `create`.
    public typealias Create =
        @convention(c) (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status

    /// The type of the ABI's `check`.
    public typealias Check = @convention(c) (carillon_str, UnsafeMutablePointer<carillon_error>?) -> carillon_status

    private let platform: StaticString
    private let description: StaticString?
    private let encrypts: Bool
    private let shows: Bool
    private let manyPerToken: Bool
    private let deliverManyLimit: Int
    private let check: Check?
    private let create: Create

    /// Makes an entry with the transport's ``PluginTransport/description``, if it has one.
    ///
    /// A C function cannot be generic, so the plugin names the type in closures: `create` calls ``make(_:_:_:_:_:)``,
    /// and the optional `check` calls ``check(_:_:_:)``. With `encrypts` the transport itself encrypts notifications in
    /// ``Mode/sealed`` to keys of the registration. With `shows` it shows every push to a person, even wake-ups, so it
    /// gets no silent pushes.
    ///
    /// ```swift
    /// TransportEntry(MyTransport.self, check: { TransportEntry.check(MyTransport.self, $0, $1) }) {
    ///     TransportEntry.make(MyTransport.self, $0, $1, $2, $3)
    /// }
    /// ```
    public init<Transport: PluginTransport>(
        _ type: Transport.Type,
        encrypts: Bool = false,
        shows: Bool = false,
        check: Check? = nil,
        create: @escaping Create
    ) {
        self.platform = type.platform
        self.description = type.description
        self.encrypts = encrypts
        self.shows = shows
        manyPerToken = type.manyPerToken
        deliverManyLimit = type.deliverManyLimit
        self.check = check
        self.create = create
    }

    /// Implements an ABI `check`: reads the block and calls the transport's type.
    public static func check<Transport: PluginTransport>(
        _ type: Transport.Type,
        _ block: carillon_str,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(PluginError) {
            try type.check(parsed(block, "block"))
            return .CARILLON_OK
        } catch let mistake {
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    /// Implements an ABI `create`: reads the configuration, makes the transport and returns its pointer.
    public static func make<Transport: PluginTransport>(
        _ type: Transport.Type,
        _ host: UnsafePointer<carillon_host>?,
        _ configuration: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let pointer = host, let instance else { return .CARILLON_INVALID }
        do throws(PluginError) {
            let host = try Host(pointer)
            let transport = try type.init(configuration: parsed(configuration), host: host)
            instance.pointee = TransportBox(transport, host: host).retainedPointer()
            return .CARILLON_OK
        } catch let mistake {
            TimerCallbacks.removeAll(of: pointer)
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    static func parsed(_ text: carillon_str, _ what: StaticString = "configuration") throws(PluginError) -> JSONObject {
        do throws(JSONError) {
            return try JSONObject(parsing: BorrowedText(text).bytes)
        } catch {
            throw PluginError("\(what): \(error)")
        }
    }

    /// Returns a table that lives until the process ends.
    func table() -> UnsafePointer<carillon_transport> {
        let transport = UnsafeMutablePointer<carillon_transport>.allocate(capacity: 1)
        transport.initialize(
            to: carillon_transport(
                struct_size: UInt32(MemoryLayout<carillon_transport>.size),
                flags: (encrypts ? UInt32(CARILLON_TRANSPORT_ENCRYPTS) : 0)
                    | (shows ? UInt32(CARILLON_TRANSPORT_SHOWS) : 0)
                    | (manyPerToken ? UInt32(CARILLON_TRANSPORT_MANY_PER_TOKEN) : 0),
                platform: carillon_str(platform),
                create: create,
                destroy: destroyTransport,
                validate: validateRegistration,
                deliver: deliverNotification,
                cancel: cancelDelivery,
                command: runCommand,
                describe: description.map { carillon_str($0) } ?? carillon_str(ptr: nil, len: 0),
                check: check,
                deliver_many: deliverManyLimit > 0 ? deliverManyNotifications : nil,
                deliver_many_limit: UInt32(clamping: deliverManyLimit),
                reserved: 0,
                receive: receiveRequest
            )
        )
        return UnsafePointer(transport)
    }
}

// Functions, not closures: a closure passed to a C struct's initializer inherits its context's isolation.

private func destroyTransport(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    TransportBox.release(instance)
}

private func validateRegistration(
    _ instance: UnsafeMutableRawPointer?,
    _ registration: UnsafePointer<carillon_registration>?,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    guard let instance, let registration else { return .CARILLON_INVALID }
    do throws(PluginError) {
        try TransportBox.at(instance).instance.validate(Registration(registration))
        return .CARILLON_OK
    } catch let mistake {
        mistake.write(to: error)
        return .CARILLON_INVALID
    }
}

private func deliverNotification(
    _ instance: UnsafeMutableRawPointer?,
    _ number: UInt64,
    _ registration: UnsafePointer<carillon_registration>?,
    _ notification: UnsafePointer<carillon_notification>?
) -> carillon_status {
    guard let instance, let registration, let notification else { return .CARILLON_INVALID }
    return TransportBox.at(instance).deliver(number, registration, notification)
}

private func cancelDelivery(_ instance: UnsafeMutableRawPointer?, _ number: UInt64) {
    guard let instance else { return }
    TransportBox.at(instance).instance.cancel(number)
}

private func runCommand(
    _ instance: UnsafeMutableRawPointer?,
    _ words: UnsafePointer<carillon_str>?,
    _ count: Int,
    _ done: carillon_command_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance, let done, count == 0 || words != nil else { return .CARILLON_INVALID }
    let words = UnsafeBufferPointer(start: words, count: count).map { BorrowedText($0).string }
    let reply = PendingReply(otherwise: CommandAnswer(isGood: false, text: "the transport did not respond")) { answer in
        var text = answer.text
        text.withUTF8 {
            done(context, answer.isGood ? .CARILLON_OK : .CARILLON_FAILED, carillon_str(UnsafeRawBufferPointer($0)))
        }
    }
    let admission = TransportBox.at(instance).instance.command(words) { reply.send($0) }
    // A command with a result was accepted, whatever the transport returns afterwards.
    guard admission.status != .CARILLON_OK, reply.withdraw() else { return .CARILLON_OK }
    return admission.status
}

/// A transport or a filter behind an instance pointer of the ABI.
package final class InstanceBox<Instance: Sendable>: Sendable {
    let instance: Instance
    let host: Host

    package init(_ instance: Instance, host: Host) {
        self.instance = instance
        self.host = host
    }

    // Timers no longer fire, but their callbacks are still stored.
    deinit { TimerCallbacks.removeAll(of: host.pointer) }

    /// Returns an instance pointer that keeps the box alive until ``release(_:)``.
    func retainedPointer() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Returns the box behind `instance`, which the host keeps alive for the duration of its call.
    static func at(_ instance: UnsafeMutableRawPointer) -> InstanceBox {
        Unmanaged<InstanceBox>.fromOpaque(instance).takeUnretainedValue()
    }

    static func release(_ instance: UnsafeMutableRawPointer) {
        Unmanaged<InstanceBox>.fromOpaque(instance).release()
    }
}

package typealias TransportBox = InstanceBox<any PluginTransport>

extension TransportBox {
    /// Implements the ABI's `deliver`.
    package func deliver(
        _ number: UInt64,
        _ registration: UnsafePointer<carillon_registration>,
        _ notification: UnsafePointer<carillon_notification>
    ) -> carillon_status {
        let ticket = Ticket(number, host: host)
        let admission = instance.deliver(ticket, Registration(registration), Notification(notification))
        // A completed ticket was accepted, whatever the transport returns afterwards.
        guard admission.status != .CARILLON_OK, ticket.withdraw() else { return .CARILLON_OK }
        return admission.status
    }
}

/// The obligation to answer one command or request: only the first answer counts. If it is released without one, it
/// sends a default answer.
///
/// `@unchecked Sendable`: the function holds a pointer of the host, which is never dereferenced here.
final class PendingReply<Answer: Sendable>: @unchecked Sendable {
    private let last: Answer
    private let reply: (Answer) -> Void
    private let isOpen = Atomic(true)

    init(otherwise last: Answer, _ reply: @escaping (Answer) -> Void) {
        self.last = last
        self.reply = reply
    }

    deinit { send(last) }

    func send(_ answer: Answer) {
        if withdraw() { reply(answer) }
    }

    /// Closes a reply that was not accepted. Returns false if it was answered already.
    func withdraw() -> Bool { isOpen.exchange(false, ordering: .acquiringAndReleasing) }
}
