import CarillonABI
import Logging
import Synchronization

extension HostDoor {
    private static var answerLimit: Int { 1 << 20 }

    /// Opens a command, whose end `waiter` is told. A call to the plugin begins when that is nil, and ``leave()`` of the
    /// state must follow.
    func openCommand(_ waiter: Shell.CommandWaiter, deadline: Int64) -> UnsafeMutableRawPointer? {
        let (context, refusal) = shell.withLock { shell -> (UnsafeMutableRawPointer?, CommandEnd?) in
            switch shell.state.beginCommand(deadline: deadline) {
            case .refused(let end): return (nil, end)
            case .admitted(let number):
                guard let door = shell.number,
                    let context = CallContext(door: door, number: number).pointer
                else {
                    _ = shell.state.endCommand(number)
                    shell.state.leave()
                    return (nil, .tooMany)
                }
                shell.commands[number] = waiter
                return (context, nil)
            }
        }
        if let refusal { waiter.resume(returning: refusal) }
        return context
    }

    /// The plugin answered, or did not take the command on. Only the first end of a command counts.
    func endCommand(_ number: UInt64, _ end: CommandEnd) {
        let (waiter, ending, mistakes) = changeShell { shell in
            (shell.commands.removeValue(forKey: number), shell.state.endCommand(number), shell.state.statistics)
        }
        waiter?.resume(returning: end)
        guard case .unknown = ending else { return }
        warn("The plugin answered a command twice, or one that it had refused", times: mistakes.unknownTickets)
    }

    /// Ends the commands whose deadline has passed.
    func expireCommands(now: Int64) {
        let waiters = changeShell { shell in
            shell.state.expireCommands(now: now).compactMap { shell.commands.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: .unanswered) }
    }

    /// The body of `carillon_command_done`.
    static func answer(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
        guard let context = CallContext(context), let door = opened(context.door) else { return }
        let text = PluginText.page(answer, limit: answerLimit)
        door.endCommand(context.number, status == .CARILLON_OK ? .answered(text) : .failed(text))
    }
}
