import CarillonABI
import PluginHost

/// How a transport answers operators' commands.
enum CommandChecks {
    private static var unknownCommand: [[UInt8]] { [Array("carillon-conformance".utf8)] }

    static func command(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.command != nil else { throw .skipped("it has no command") }
        var remark = ""
        try bench.onNewInstance(rules: [.command, .requests]) { instance throws(CheckStop) in
            bench.at("help")
            switch try course(of: [Array("help".utf8)], on: instance, bench) {
            case .refused: remark = "it knows no command"
            case .answered(isOK: true): break
            case .answered(isOK: false): throw .failed("\"help\" failed: it lists what there is")
            }
            bench.at("an unknown command")
            if case .answered(isOK: true) = try course(of: unknownCommand, on: instance, bench) {
                throw .failed(
                    "it says CARILLON_OK to a command that it cannot know: return CARILLON_UNSUPPORTED, or answer what is "
                        + "wrong with another status"
                )
            }
            bench.at("no words")
            if case .answered(isOK: true) = try course(of: [], on: instance, bench) {
                throw .failed("it says CARILLON_OK to no command at all")
            }
        }
        try hostileCommands(bench)
        return remark
    }

    /// Every text as a command, as what follows a command, and many of them; on requests that are answered, and on
    /// requests that are not before the instance is to end.
    private static func hostileCommands(_ bench: TransportBench) throws(CheckStop) {
        let words = [Array("help".utf8)] + HostileInput.commandWords + HostileInput.texts.map(\.text) + [[]]
        try bench.onNewInstance(.guarded, rules: [.command]) { instance in
            for first in words {
                bench.at("commands with hostile words")
                for second in words { instance.command([first, second], .guarded) }
                instance.command([first] + words, .guarded)
            }
            bench.at("1,000 words")
            instance.command([[UInt8]](repeating: Array("a".utf8), count: 1000), .guarded)
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        try bench.onNewInstance(rules: [.command]) { instance in
            bench.at("commands whose requests fail when the host shuts down")
            instance.host.set(.hold)
            for word in words { instance.command([word, Array("list".utf8)]) }
            instance.host.set(.refuse)
            for word in words { instance.command([word, Array("list".utf8)]) }
            instance.host.release(.nothing(because: "shutdown"))
            _ = bench.wait(for: instance, until: \.isIdle)
        }
    }

    private enum Course {
        case refused
        case answered(isOK: Bool)
    }

    private static func course(
        of words: [[UInt8]],
        on instance: CheckedTransport,
        _ bench: TransportBench
    ) throws(CheckStop) -> Course {
        guard let (number, status) = instance.command(words), status == .CARILLON_OK else { return .refused }
        guard bench.wait(for: instance, until: { $0.commands[number].answers.isEmpty == false }),
            let answer = instance.host.log.commands[number].answers.first
        else { throw .failed(CheckLog.unansweredCommand) }
        return .answered(isOK: answer.isOK)
    }
}
