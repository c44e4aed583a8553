import CarillonABI

extension TransportInstance {
    /// Has the plugin do what an operator wants of the push service that is no delivery; returns its answer, for people or a
    /// program.
    ///
    /// A plugin that does not answer within `milliseconds` costs nothing but the wait, provided something goes on calling
    /// ``expireDeadlines()``.
    ///
    /// - Throws: What the plugin says is wrong, or that there is no such command or no answer.
    package func command(
        _ words: [String],
        within milliseconds: Int64 = 60_000
    ) async throws(PluginError) -> String {
        guard let command = functions.command else {
            throw .refusedCommand(platform, saying: "it takes none")
        }
        let deadline = now() + milliseconds
        let end = await withCheckedContinuation { (waiter: HostDoor.Shell.CommandWaiter) in
            guard let context = door.openCommand(waiter, deadline: deadline) else { return }
            let status = words.lend { command(handle.pointer, $0, words.count, hostCommandDone, context) }
            if status != .CARILLON_OK, let number = CallContext(context)?.number {
                door.endCommand(number, .refused(status))
            }
            door.change { $0.leave() }
        }
        switch end {
        case .answered(let text): return text
        case .failed(let text): throw .refusedCommand(platform, saying: text)
        case .refused(let status): throw .refusedCommand(platform, saying: Self.words(for: status))
        case .tooMany: throw .refusedCommand(platform, saying: "too many are under way")
        case .unanswered: throw .refusedCommand(platform, saying: "no answer came in time")
        case .draining: throw .refusedCommand(platform, saying: "the transport is being shut down")
        }
    }

    /// Commands that the plugin has not answered and that somebody waits for.
    var openCommands: Int { door.change { $0.commands.count } }

    private static func words(for status: carillon_status) -> String {
        switch status {
        case .CARILLON_UNSUPPORTED: "there is no such command (\"help\" lists what there is)"
        case .CARILLON_INVALID: "it is malformed (\"help\" lists what there is)"
        case .CARILLON_BUSY: "not now, try again later"
        default: "it failed (status \(status.rawValue))"
        }
    }
}

extension [String] {
    /// Lends the words for the time of `body`.
    fileprivate func lend<Result>(_ body: (UnsafePointer<carillon_str>?) -> Result) -> Result {
        let structBytes = count * MemoryLayout<carillon_str>.stride
        let textBytes = reduce(0) { $0 + $1.utf8.count }
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let array = memory.array(of: carillon_str.self, count: count)
            for (index, word) in enumerated() { array.initializeElement(at: index, to: memory.text(word)) }
            return body(isEmpty ? nil : UnsafePointer(array.baseAddress))
        }
    }
}
