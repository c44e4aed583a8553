import CarillonABI
import PluginProtocol
import Synchronization
import Units

/// A library in a process of its own, with functions that have the signatures of the ABI.
///
/// The process ends when the last of its plugins is let go of.
package final class IsolatedPlugin: Sendable {
    /// Ends a process when nobody needs it any more.
    private final class Lease: Sendable {
        let supervisor: ChildSupervisor

        init(_ supervisor: ChildSupervisor) { self.supervisor = supervisor }

        deinit { supervisor.stop() }
    }

    /// What the library says about itself; the router has not judged it yet.
    package let descriptor: DescriptorMessage
    private let lease: Lease
    private let library: UInt32

    private init(_ descriptor: DescriptorMessage, _ lease: Lease, library: UInt32) {
        self.descriptor = descriptor
        self.lease = lease
        self.library = library
    }

    /// The supervisor of its process, and the number of the library there. Both change when the libraries of a process
    /// part.
    private var place: (supervisor: ChildSupervisor, library: UInt32) { lease.supervisor.supervisor(of: library) }

    /// Loads libraries into the one process of `supervisor`.
    package static func load(
        _ libraries: [IsolatedLibrary],
        into supervisor: ChildSupervisor
    ) -> [Result<IsolatedPlugin, LoadFailure>] {
        let lease = Lease(supervisor)
        // The process counts those that it has loaded.
        var loaded: UInt32 = 0
        return supervisor.load(libraries).map { result in
            result.map { descriptor in
                defer { loaded += 1 }
                return IsolatedPlugin(descriptor, lease, library: loaded)
            }
        }
    }

    /// `create` of the transport or filter at `index` of the descriptor. The instance is the pointer to an
    /// ``IsolatedInstance``.
    package func create(
        _ table: CreateMessage.Table,
        at index: Int,
        _ host: UnsafePointer<carillon_host>?,
        _ config: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let host else { return .CARILLON_INVALID }
        let (supervisor, library) = place
        let order = supervisor.table.add(
            host,
            library: library,
            table,
            index: UInt32(clamping: index),
            configuration: String(decoding: UnsafeRawBufferPointer(start: config.ptr, count: config.len), as: UTF8.self)
        )
        let (status, needs, said) = supervisor.create(order)
        guard status == .CARILLON_OK else {
            supervisor.destroy(order.number)
            // Its process died, perhaps of another library: it has its own now.
            if place.supervisor !== supervisor { return create(table, at: index, host, config, instance, error) }
            ErrorRoom.write(said, to: error)
            return status
        }
        let made = IsolatedInstance(order.number, needs: needs, group: lease.supervisor, library: self.library)
        instance?.pointee = made.retainedPointer()
        return status
    }

    /// `check` of the transport at `index` of the descriptor.
    package func check(
        transport index: Int,
        _ block: carillon_str,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        ask(.check, of: library, in: lease.supervisor, error) { library, body in
            CheckMessage.write(library: library, index: UInt32(clamping: index), block, to: &body)
        }
    }
}

/// An instance in a plugin's process.
package final class IsolatedInstance: Sendable {
    private let number: UInt32
    /// What a filter's instance needs, as bits of its flags.
    private let filterNeeds: UInt32
    /// The supervisor that loaded its library under the number `library`.
    private let group: ChildSupervisor
    private let library: UInt32

    init(_ number: UInt32, needs: UInt32, group: ChildSupervisor, library: UInt32) {
        self.number = number
        filterNeeds = needs
        self.group = group
        self.library = library
    }

    /// The supervisor of its process.
    var supervisor: ChildSupervisor { group.supervisor(of: library).supervisor }

    /// Hands something to the process, or to the one that the library got meanwhile.
    private func hand(_ body: (ChildSupervisor) -> carillon_status) -> carillon_status {
        let supervisor = supervisor
        let status = body(supervisor)
        guard status == .CARILLON_FAILED else { return status }
        let current = self.supervisor
        return current === supervisor ? status : body(current)
    }

    /// A pointer that keeps the instance until ``destroy(_:)``.
    fileprivate func retainedPointer() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    private static func at(_ pointer: UnsafeMutableRawPointer?) -> IsolatedInstance? {
        pointer.map { Unmanaged<IsolatedInstance>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The function `deliver` of a transport.
    package static func deliver(
        _ instance: UnsafeMutableRawPointer?,
        _ ticket: UInt64,
        _ registration: UnsafePointer<carillon_registration>?,
        _ notification: UnsafePointer<carillon_notification>?
    ) -> carillon_status {
        guard let instance = at(instance), let registration, let notification else { return .CARILLON_INVALID }
        return instance.hand {
            $0.table.deliveries.deliver(instance.number, ticket, registration.pointee, notification.pointee)
        }
    }

    /// The function `deliver_many` of a transport.
    package static func deliverMany(
        _ instance: UnsafeMutableRawPointer?,
        _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        _ count: Int
    ) -> carillon_status {
        guard let instance = at(instance), let deliveries else { return .CARILLON_INVALID }
        let all = UnsafeBufferPointer(start: deliveries, count: count).compactMap { $0?.pointee }
        return instance.hand { $0.table.deliveries.deliver(instance.number, all) }
    }

    /// The function `receive` of a transport. A refusal of the plugin comes through `done` as the answer that the
    /// header says, because this does not wait for it.
    package static func receive(
        _ instance: UnsafeMutableRawPointer?,
        _ request: UnsafePointer<carillon_inbound_request>?,
        _ done: carillon_inbound_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let instance = at(instance), let request, let done else { return .CARILLON_INVALID }
        return instance.supervisor.table.inbound.hand(instance.number, request.pointee, done, context)
    }

    /// The function `cancel` of a transport.
    package static func cancel(_ instance: UnsafeMutableRawPointer?, _ ticket: UInt64) {
        guard let instance = at(instance) else { return }
        instance.supervisor.table.deliveries.cancel(instance.number, ticket)
    }

    /// The function `validate` of a transport.
    package static func validate(
        _ instance: UnsafeMutableRawPointer?,
        _ registration: UnsafePointer<carillon_registration>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let instance = at(instance), let registration else { return .CARILLON_INVALID }
        return ask(.validate, of: instance.library, in: instance.group, error) { _, body in
            ValidateMessage.write(instance: instance.number, registration.pointee, to: &body)
        }
    }

    /// The function `command` of a transport. A refusal comes through `done`, with `words` for its status, because this
    /// does not wait for it.
    package static func command(
        _ instance: UnsafeMutableRawPointer?,
        _ words: UnsafePointer<carillon_str>?,
        _ count: Int,
        _ done: carillon_command_done?,
        _ context: UnsafeMutableRawPointer?,
        refusal: @escaping @Sendable (carillon_status) -> String
    ) -> carillon_status {
        guard let instance = at(instance), let done else { return .CARILLON_INVALID }
        guard let session = instance.supervisor.session else { return .CARILLON_BUSY }
        let waiter = CommandWaiter(done: done, context: context)
        let number = instance.number
        let question = session.ask(.command) { body in
            CommandMessage.write(instance: number, words, count: count, to: &body)
        } then: { answer in
            waiter.receive(answer, from: session, refusal: refusal)
        }
        return question == nil ? .CARILLON_BUSY : .CARILLON_OK
    }

    /// The function `decide` of a filter.
    package static func decide(
        _ instance: UnsafeMutableRawPointer?,
        _ call: UnsafePointer<carillon_filter_call>?,
        _ verdict: UnsafeMutablePointer<carillon_verdict>?
    ) -> carillon_status {
        guard var batch = decisions(of: instance), let call, let verdict else { return .CARILLON_INVALID }
        batch.add(call.pointee)
        let status = batch.ask().first?.read(&verdict.pointee) { _ = call.pointee.set?(call.pointee.edit, $0, $1) }
        return status ?? .CARILLON_FAILED
    }

    /// An empty batch of questions to a filter.
    package static func decisions(of instance: UnsafeMutableRawPointer?) -> DecisionBatch? {
        at(instance).map { DecisionBatch($0.number, $0) }
    }

    /// The function `needs` of a filter.
    package static func needs(_ instance: UnsafeMutableRawPointer?) -> UInt32 { at(instance)?.filterNeeds ?? 0 }

    /// The function `destroy`. The pointer leads nowhere afterwards.
    package static func destroy(_ instance: UnsafeMutableRawPointer?) {
        guard let instance else { return }
        let own = Unmanaged<IsolatedInstance>.fromOpaque(instance).takeRetainedValue()
        let supervisor = own.supervisor
        supervisor.destroy(own.number)
        // It may have got another process meanwhile.
        let current = own.supervisor
        if current !== supervisor, current.table.host(of: own.number) != nil { current.destroy(own.number) }
    }

    /// Who waits for the end of a command.
    ///
    /// Unchecked: the host's pointer is not looked into here.
    private struct CommandWaiter: @unchecked Sendable {
        let done: carillon_command_done
        let context: UnsafeMutableRawPointer?

        func receive(_ answer: Answer, from session: ChildSession, refusal: (carillon_status) -> String) {
            guard case .frame(let frame) = answer else {
                return say(.CARILLON_FAILED, "the plugin's process ended meanwhile")
            }
            do throws(ProtocolError) {
                try frame.read { frame throws(ProtocolError) in
                    guard frame.kind == .answered else { throw .unexpected(frame.kind) }
                    let answer = try AnswerMessage(reading: frame)
                    // The number 1 says that the plugin took the command on.
                    guard answer.number == 1 else { return say(answer.status, refusal(answer.status)) }
                    done(context, answer.status, answer.text)
                }
            } catch {
                session.kill(reason: "was ended, because \(error)")
                say(.CARILLON_FAILED, "the plugin's process did not answer properly")
            }
        }

        private func say(_ status: carillon_status, _ text: String) {
            var text = text
            text.withUTF8 { text in
                done(context, status, carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count))
            }
        }
    }
}

/// Asks the library that `group` loaded under the number `library` a question that a status and a sentence answer, in a
/// process that is waited for while it starts. A process that dies of something else is asked again once. Without an
/// answer the status is FAILED; it is INVALID if the process crashed in the very question.
private func ask(
    _ kind: FrameKind,
    of library: UInt32,
    in group: ChildSupervisor,
    _ error: UnsafeMutablePointer<carillon_error>?,
    _ body: (UInt32, inout FrameWriter) -> Void
) -> carillon_status {
    var text = "the plugin's process does not run"
    for _ in 0..<2 {
        let (supervisor, number) = group.supervisor(of: library)
        let span = supervisor.settings.questionDeadline
        guard let session = supervisor.readySession(within: span) else {
            if group.supervisor(of: library).supervisor === supervisor { break }
            continue
        }
        switch session.ask(kind, within: span, { body(number, &$0) }) {
        case .frame(let frame): return read(frame, from: session, error)
        case .crashed:
            ErrorRoom.write("the plugin's process \(session.endText)", to: error)
            return .CARILLON_INVALID
        case .ended:
            text = "the plugin's process \(session.endText)"
            continue
        case .unaskable: text = "the plugin's process cannot be asked"
        case .late: text = "the plugin did not answer in time"
        }
        break
    }
    ErrorRoom.write(text, to: error)
    return .CARILLON_FAILED
}

/// Reads an answer of a status and a sentence.
private func read(
    _ frame: OwnedFrame,
    from session: ChildSession,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    do throws(ProtocolError) {
        return try frame.read { frame throws(ProtocolError) in
            guard frame.kind == .answered else { throw .unexpected(frame.kind) }
            let answer = try AnswerMessage(reading: frame)
            ErrorRoom.write(answer.text, to: error)
            return answer.status
        }
    } catch let mistake {
        session.kill(reason: "was ended, because \(mistake)")
        return .CARILLON_FAILED
    }
}

extension ChildSession {
    /// How it ended, as the end of a sentence.
    fileprivate var endText: String { end(within: .zero)?.text(modules) ?? "ended" }
}
