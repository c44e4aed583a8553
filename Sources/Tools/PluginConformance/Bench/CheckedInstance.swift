import CarillonABI
import Dispatch
import PluginHost
import Push
import Synchronization

typealias CheckedTransport = CheckedInstance<TransportFunctions>
typealias CheckedFilter = CheckedInstance<FilterFunctions>

/// An instance of a transport or a filter, with its own host.
final class CheckedInstance<Functions: EntryFunctions>: Sendable {
    let host: CheckHost
    fileprivate let functions: Functions
    fileprivate let handle: PluginHandle
    fileprivate let library: CheckedLibrary

    init(_ pointer: UnsafeMutableRawPointer?, on host: CheckHost, _ functions: Functions, of library: CheckedLibrary) {
        handle = PluginHandle(pointer: pointer)
        self.host = host
        self.functions = functions
        self.library = library
    }

    /// Only timers and streams may be outstanding; the streams end now.
    func destroy() {
        host.services.endTimers()
        host.streams.shutDown()
        settingUp { functions.destroy(handle.pointer) }
        host.note { $0.destroy() }
    }

    /// Runs a function that the header marks `[setup]`.
    fileprivate func settingUp<Result>(_ body: () -> Result) -> Result { library.setup.sync(execute: body) }
}

extension CheckedInstance where Functions == TransportFunctions {
    /// Starts a delivery; its memory is overwritten when this returns.
    @discardableResult
    func deliver(
        _ parcel: Parcel,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) -> (ticket: UInt64, status: carillon_status) {
        let ticket = lastTicket.add(1, ordering: .relaxed).newValue
        host.note { $0.begin(ticket) }
        let parcel = library.bounded(parcel)
        let arena = Arena(placement, shape)
        let status = withExtendedLifetime(arena) {
            functions.deliver(handle.pointer, ticket, parcel.registration(in: arena), parcel.notification(in: arena))
        }
        host.note { $0.answered(ticket, isAccepted: status == .CARILLON_OK) }
        return (ticket, status)
    }

    /// The plugin's result for a registration; nil if it does not check them.
    func validate(
        _ parcel: Parcel,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512
    ) -> RefusedCall? {
        guard let validate = functions.validate else { return nil }
        let parcel = library.bounded(parcel)
        let arena = Arena(placement, shape)
        return withExtendedLifetime(arena) {
            RefusedCall(capacity: capacity) { validate(handle.pointer, parcel.registration(in: arena), $0) }
        }
    }

    /// Runs a command; its memory is overwritten when this returns. Nil if the plugin has no commands.
    @discardableResult
    func command(_ words: [[UInt8]], _ placement: Arena.Placement = .plain) -> (number: Int, status: carillon_status)? {
        guard let command = functions.command else { return nil }
        let number = host.note { $0.beginCommand() }
        let context = CheckedCommand(number, on: host).context()
        let arena = Arena(placement)
        let status = withExtendedLifetime(arena) {
            command(handle.pointer, arena.array(words.map { arena.text($0) }), words.count, checkCommandDone, context)
        }
        host.note { $0.took(command: number, isAccepted: status == .CARILLON_OK) }
        return (number, status)
    }

    /// Starts several deliveries together; their memory is overwritten when this returns.
    @discardableResult
    func deliverMany(_ parcels: [Parcel], _ placement: Arena.Placement = .plain) -> carillon_status {
        guard let deliverMany = functions.deliverMany else { return .CARILLON_UNSUPPORTED }
        let tickets = parcels.map { _ in lastTicket.add(1, ordering: .relaxed).newValue }
        host.note { log in
            for ticket in tickets { log.begin(ticket) }
        }
        let arena = Arena(placement)
        let status = withExtendedLifetime(arena) {
            let deliveries = zip(tickets, parcels).map { ticket, parcel in
                arena.borrow(
                    carillon_delivery(
                        struct_size: 0,
                        reserved: 0,
                        ticket: ticket,
                        registration: parcel.registration(in: arena),
                        notification: parcel.notification(in: arena)
                    )
                )
            }
            return deliverMany(handle.pointer, arena.array(deliveries), deliveries.count)
        }
        host.note { log in
            for ticket in tickets { log.answered(ticket, isAccepted: status == .CARILLON_OK) }
        }
        return status
    }

    /// Passes an inbound request; its memory is overwritten when this returns.
    @discardableResult
    func receive(_ sample: InboundSample, _ placement: Arena.Placement = .plain) -> carillon_status {
        guard let receive = functions.receive else { return .CARILLON_UNSUPPORTED }
        let number = host.note { $0.beginInbound() }
        let context = CheckedCommand(number, on: host).context()
        let arena = Arena(placement)
        let status = withExtendedLifetime(arena) {
            receive(handle.pointer, sample.request(in: arena), checkInboundDone, context)
        }
        host.note { $0.took(inbound: number, isAccepted: status == .CARILLON_OK) }
        return status
    }

    func cancel(_ ticket: UInt64) { functions.cancel?(handle.pointer, ticket) }
}

extension CheckedInstance where Functions == FilterFunctions {
    /// Asks the filter; the call's memory is overwritten when this returns.
    @discardableResult
    func decide(
        _ inquiry: FilterInquiry,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) -> FilterDecision {
        let isRendered = functions.entry.isAskedAfterRendering
        let edit = CheckedEdit(isRendered ? Notification(mode: .alert, signal: .mention) : nil, on: host)
        let arena = Arena(placement, shape)
        var decision = carillon_verdict(rawValue: unwrittenDecision) ?? .CARILLON_PASS
        let status = withExtendedLifetime(arena) {
            functions.decide(
                handle.pointer,
                inquiry.call(in: arena, edit: edit.openForPlugin(), isRendered: isRendered),
                &decision
            )
        }
        let written = decision.rawValue == unwrittenDecision ? nil : decision.rawValue
        return FilterDecision(status: status, decision: written, sets: edit.close())
    }

    /// The needs that it reports; nil if it has no such function.
    var needs: UInt32? { settingUp { functions.needs.map { $0(handle.pointer) } } }
}

/// The plugin's own pointer of an instance, never dereferenced here.
///
/// Unchecked: the plugin promises to accept it on any thread.
struct PluginHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

/// Above 32 bits, to expose a plugin that truncates tickets.
private let lastTicket = Atomic<UInt64>(1 << 40)
/// A verdict that does not and will not exist.
private let unwrittenDecision: Int32 = -7_777_777

/// The plugin's context of an operator's command or an inbound request. It is never freed, so that a late answer is
/// detected.
final class CheckedCommand: Sendable {
    private let host: CheckHost
    private let number: Int

    init(_ number: Int, on host: CheckHost) {
        self.number = number
        self.host = host
    }

    /// The context for the plugin. Call this once.
    func context() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Nil for NULL.
    static func at(_ context: UnsafeMutableRawPointer?) -> CheckedCommand? {
        context.map { Unmanaged<CheckedCommand>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Records the plugin's answer.
    func answer(_ status: carillon_status, _ text: carillon_str) {
        let isText = PluginText.string(text, limit: .max) != nil
        host.note { $0.answer(number, isOK: status == .CARILLON_OK, isText: isText, isEmpty: text.len == 0) }
    }

    /// Records the plugin's answer to a request.
    func answer(_ answer: UnsafePointer<carillon_inbound_answer>?) {
        let isWellFormed = InboundAnswer(reading: answer) != nil
        host.note { $0.answer(inbound: number, isWellFormed: isWellFormed) }
    }
}
