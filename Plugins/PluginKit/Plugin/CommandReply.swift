internal import CarillonABI
import Synchronization

/// The promise to answer one command: the first answer counts, and one that nobody can answer any more has failed.
///
/// `@unchecked Sendable`: the pointer is the host's own business and never looked into here.
final class CommandReply: @unchecked Sendable {
    private let done: carillon_command_done
    private let context: UnsafeMutableRawPointer?
    private let isOpen = Atomic(true)

    init(done: @escaping carillon_command_done, context: UnsafeMutableRawPointer?) {
        self.done = done
        self.context = context
    }

    deinit {
        send(CommandAnswer(isGood: false, text: "the transport gave no answer"))
    }

    func send(_ answer: CommandAnswer) {
        guard withdraw() else { return }
        var text = answer.text
        text.withUTF8 {
            done(context, answer.isGood ? .CARILLON_OK : .CARILLON_FAILED, carillon_str(UnsafeRawBufferPointer($0)))
        }
    }

    /// Closes a command that was not accepted; false when it was answered already.
    func withdraw() -> Bool { isOpen.exchange(false, ordering: .acquiringAndReleasing) }
}
