import HTTPLanes

extension HostDoor {
    /// What a door keeps under its lock.
    struct Shell {
        /// What there is to tidy up when nothing is sent any more.
        typealias Rest = (sender: (any HTTPSender)?, scopes: [ConnectionScope], commands: [CommandWaiter])
        typealias CommandWaiter = CheckedContinuation<CommandEnd, Never>

        var state = State()
        /// Nil once nothing may be sent any more.
        var sender: (any HTTPSender)?
        /// Waits for the drain to settle.
        var waiter: CheckedContinuation<Bool, Never>?
        var connections = ConnectionWords()
        /// Which of the doors ever opened this is; nil before.
        var number: Int?
        /// Who wait for commands, by the commands' numbers.
        var commands: [UInt64: CommandWaiter] = [:]
        /// What a filter says in the calls that are inside it, by their numbers.
        var edits: [UInt64: FilterEdit] = [:]
        var lastEdit: UInt64 = 0

        mutating func shut() -> Rest {
            defer {
                sender = nil
                commands = [:]
            }
            return (sender, connections.removeAll(), Array(commands.values))
        }
    }

    static func tidyUp(_ rest: Shell.Rest) {
        for scope in rest.scopes { rest.sender?.retire(scope) }
        for command in rest.commands { command.resume(returning: .draining) }
    }
}
