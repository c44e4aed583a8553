import ArgumentParser
import CarillonRouter
import Cipher
import Core
import Foundation
import Nostr
import Operations
import RouterConfiguration
import Setup
import Storage

/// `carillon setup`
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Create a configuration by answering questions, and try it.",
        discussion: """
            Asks for the public address, relays, push services and their credentials, and checks each answer. Writes a \
            configuration, rules, files for nginx, Caddy and systemd, and a key. Then it checks the files, asks push \
            services whether they accept the credentials (no device is notified), and sends a test notification to an \
            ntfy topic. No file is written before the last answer or replaced without asking.

              carillon setup
              carillon setup --folder ~/carillon
              carillon setup --answers answers.yaml --folder /etc/carillon

            An answers file contains the answers that differ from the defaults:

              url: wss://notify.example.com
              relays: [wss://relay.example.com]
              services: [ios, unifiedpush, ntfy]
              ios:
                topic: com.example.app
                team_id: TEAMID1234
                key_id: ABCDEFGHIJ
                key_file: AuthKey.p8

            contrib/docs/setup.md lists all its keys. Exits with status 0 if everything is in order, 1 if nothing was \
            written, and 2 if files were written but need corrections.
            """
    )

    @Option(help: "A YAML file with the answers, instead of asking.")
    var answers: String?

    @Option(name: [.long, .customLong("output")], help: "The folder to write to.")
    var folder: String?

    @Flag(help: "Replace existing files without asking.")
    var overwrite = false

    @Flag(help: "Ask no push service and send no test notification.")
    var offline = false

    func run() async throws {
        let machine = SetupMachine(
            isRoot: geteuid() == 0,
            home: ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory(),
            currentFolder: FileManager.default.currentDirectoryPath,
            pluginFolder: Configuration.Plugins.installedFolders.first(where: Self.hasPlugins),
            read: Self.content
        )
        let questions = SetupQuestions(machine: machine)
        var given = SetupAnswers()
        if let folder {
            guard let question = questions.list(for: given).first(where: { $0.key == "folder" }) else { return }
            do throws(SetupError) { given["folder"] = try question.read(folder) } catch {
                throw ValidationError("--folder: \(error)")
            }
        }
        let complete = try answers.map { try read($0, questions, given) } ?? ask(questions, given)
        let date = String(Date.now.ISO8601Format().prefix(10))
        let plan = SetupPlan(complete, date: date, program: Terminal.program ?? "carillon")
        try await SetupRun(plan: plan, offline: offline, isInteractive: answers == nil, overwrite: overwrite).run()
    }

    private func read(_ path: String, _ questions: SetupQuestions, _ given: SetupAnswers) throws -> SetupAnswers {
        guard let data = FileManager.default.contents(atPath: path) else {
            Terminal.error("\(path): cannot be read")
            throw ExitCode(1)
        }
        let text = String(decoding: data, as: UTF8.self)
        return try Terminal.printingMistakes {
            try SetupAnswersFile.read(text, name: path, questions: questions, given: given)
        }
    }

    private func ask(_ questions: SetupQuestions, _ given: SetupAnswers) throws -> SetupAnswers {
        guard isatty(STDIN_FILENO) == 1 else {
            Terminal.error("there is no terminal; run setup in a terminal, or add --answers FILE")
            throw ExitCode(1)
        }
        var dialogue = SetupDialogue(SetupInterview(questions, given: given))
        return try dialogue.run()
    }

    private static func hasPlugins(_ folder: String) -> Bool {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return names?.contains { $0.hasPrefix("libCarillon") && $0.hasSuffix(".so") } ?? false
    }

    private static func content(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 65_536)
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}

/// The dialogue at a terminal, which asks the questions of an interview.
private struct SetupDialogue {
    private var interview: SetupInterview

    init(_ interview: SetupInterview) {
        self.interview = interview
    }

    /// Asks until all questions are answered and confirmed.
    mutating func run() throws -> SetupAnswers {
        print("Enter accepts the answer in [brackets], ? explains, < goes back. Files are written only at the end.\n")
        while true {
            if let question = interview.question {
                try ask(question)
            } else if try isConfirmed() {
                return interview.complete
            }
        }
    }

    private mutating func ask(_ question: SetupQuestion) throws {
        let suggestion = question.suggestion.map { " [\($0.isEmpty ? "none" : $0)]" } ?? ""
        let text = try SetupDialogue.line("\(question.prompt)\(suggestion): ")
        switch text.trimmingCharacters(in: .whitespaces) {
        case "?": print("  \(question.help)")
        case "<", "back": if !interview.back() { print("  This is the first question.") }
        default:
            do throws(SetupError) { try interview.answer(text) } catch { print("  \(error)") }
        }
    }

    /// Shows all answers, and reads the number of an answer to correct.
    private mutating func isConfirmed() throws -> Bool {
        let summary = interview.summary
        print("")
        for (number, (question, answer)) in summary.enumerated() {
            print("  \(number + 1). \(question.key): \(answer.isEmpty ? "none" : answer)")
        }
        while true {
            let text = try SetupDialogue.line("\nEnter writes the files, a number corrects an answer, q leaves: ")
            switch text.trimmingCharacters(in: .whitespaces) {
            case "": return true
            case "q", "quit":
                print("No files were written.")
                throw ExitCode(1)
            case "<", "back":
                _ = interview.back()
                return false
            case let text:
                guard let number = Int(text), summary.indices.contains(number - 1) else {
                    print("  expected a number from 1 to \(summary.count)")
                    continue
                }
                interview.reopen(summary[number - 1].question.key)
                return false
            }
        }
    }

    /// Reads a line from the terminal. Fails at the end of the input.
    static func line(_ prompt: String) throws -> String {
        print(prompt, terminator: "")
        fflush(nil)
        guard let line = readLine() else {
            print("")
            Terminal.error("the input ended")
            throw ExitCode(1)
        }
        return line
    }
}

/// Writes the files, checks them, and prints the next steps.
private struct SetupRun {
    let plan: SetupPlan
    let offline: Bool
    let isInteractive: Bool
    let overwrite: Bool

    func run() async throws {
        try confirmReplacement()
        let key = try givenKey()
        try becomeOwner()
        try write()
        do {
            try await tryOut(try makeKey(key))
        } catch let code as ExitCode {
            // Code 1 means that setup wrote no file.
            throw code == .failure ? ExitCode(2) : code
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(2)
        }
    }

    /// Checks the files, asks push services, and prints the next steps.
    private func tryOut(_ publicKey: PublicKey) async throws {
        var isGood = true
        try await PassedCredentials.use(plan.credentialFiles) {
            isGood = await check()
            guard isGood, !offline else { return }
            isGood = await probe()
            try await testPush()
        }
        print("\nWhat to do next:")
        for (number, step) in plan.nextSteps(publicKey: NIP19.npub(publicKey)).enumerated() {
            print("  \(number + 1). \(step)")
        }
        if !isGood { throw ExitCode(2) }
    }

    /// Without a service, everything is in one directory. If root runs setup for another user's directory, the rest
    /// runs as that user. The files then belong to that user, and root follows no links in the directory.
    private func becomeOwner() throws {
        guard !plan.isService, geteuid() == 0, FileManager.default.fileExists(atPath: plan.folder),
            let owner = FolderOwner(ofFolderOf: plan.configurationPath)
        else { return }
        do throws(OperationError) {
            try owner.become(plan.configurationPath)
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(1)
        }
    }

    private func confirmReplacement() throws {
        let conflicts = SetupWriter(plan).conflicts
        guard !conflicts.isEmpty, !overwrite else { return }
        guard isInteractive else {
            for path in conflicts { Terminal.error("\(path): exists already; --overwrite replaces it") }
            throw ExitCode(1)
        }
        print("\nThese files exist and would be replaced:")
        for path in conflicts { print("  \(path)") }
        guard try SetupDialogue.line("Replace them? [no]: ").lowercased().hasPrefix("y") else {
            print("No files were written.")
            throw ExitCode(1)
        }
    }

    /// Returns the key in the answers; `nil` to create a new one. Setup never replaces keys, so an existing key must be
    /// the same.
    private func givenKey() throws -> KeyPair? {
        guard let path = plan.givenKey else { return nil }
        let key = try Terminal.printingMistakes { try IdentityFile(path: path).read() }
        let old = IdentityFile(path: plan.keyPath)
        let oldKey = old.exists ? try Terminal.printingMistakes { try old.read() } : key
        guard oldKey.publicKey != key.publicKey else { return key }
        Terminal.error(
            "\(plan.keyPath): holds another key than \(path), and keys are never replaced; move it away first"
        )
        throw ExitCode(1)
    }

    private func write() throws {
        // Ctrl-C between two files would leave an incomplete setup.
        let signals = [SIGINT, SIGTERM, SIGHUP].map { ($0, signal($0, SIG_IGN)) }
        defer { for (number, action) in signals { signal(number, action) } }
        let written = try refusing { () throws(SetupError) in try SetupWriter(plan).write() }
        print("")
        for path in written { print("wrote \(path)") }
        if written.isEmpty { print("all files are up to date") }
    }

    private func makeKey(_ given: KeyPair?) throws -> PublicKey {
        // A package has created the service's directory for the service's user.
        let owner = geteuid() == 0 ? FolderOwner(ofFolderOf: plan.keyPath) : nil
        let file = IdentityFile(path: plan.keyPath, owner: owner.map { ($0.user, $0.group) })
        if file.exists {
            print("kept \(plan.keyPath)")
            return try Terminal.printingMistakes { try file.read() }.publicKey
        }
        if let given {
            try Terminal.printingMistakes { try file.write(given) }
            print("wrote \(plan.keyPath), a copy of \(plan.givenKey ?? "")")
            return given.publicKey
        }
        let key = try Terminal.printingMistakes { try file.create(random: SecureRandom.bytes) }
        print("wrote \(plan.keyPath), a new key")
        return key.publicKey
    }

    private func refusing<Value>(_ body: () throws(SetupError) -> Value) throws -> Value {
        do throws(SetupError) {
            return try body()
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(1)
        }
    }

    private func check() async -> Bool {
        print("\ncarillon check --config \(plan.configurationPath)")
        let check = ConfigurationCheck(path: plan.configurationPath)
        for warning in check.warnings() { print("  warning: \(warning)") }
        let mistakes = await check.mistakes()
        for mistake in mistakes { print("  \(mistake)") }
        print(mistakes.isEmpty ? "  no errors" : "  correct this, then run carillon check again")
        return mistakes.isEmpty
    }

    private func probe() async -> Bool {
        guard !plan.credentialPlatforms.isEmpty,
            let configuration = try? Configuration(file: plan.configurationPath)
        else { return true }
        let probe = CredentialProbe(configuration, now: { .now() })
        var isGood = true
        print("\nAsking push services whether they accept the credentials; no device is notified:")
        for platform in plan.credentialPlatforms {
            let decision =
                if let token = SetupPlan.unusedToken(of: platform) {
                    await probe.ask(platform, token: token)
                } else {
                    await probe.check(platform)
                }
            switch decision {
            case .accepted: print("  \(platform): accepted")
            case .refused(let reason):
                print(
                    "  \(platform): REFUSED (\(reason)); correct apps.default.\(platform) in \(plan.configurationPath)"
                )
                isGood = false
            case .unknown(let reason):
                print("  \(platform): could not be asked (\(reason)); \(later(platform))")
            }
        }
        return isGood
    }

    /// Returns how to check the credentials later.
    private func later(_ platform: String) -> String {
        SetupPlan.unusedToken(of: platform) == nil
            ? "try later: \(plan.checkCommand(platform))" : "try later: carillon devices test, or setup again"
    }

    private func testPush() async throws {
        guard let server = plan.testServer, let configuration = try? Configuration(file: plan.configurationPath) else {
            return
        }
        let topic = "carillon-" + Hex.encode(SecureRandom.bytes(8))
        let url = "\(server)/\(topic)"
        print("\nA test notification. Open this address on a phone, or subscribe to it in the ntfy app:\n")
        if isatty(STDOUT_FILENO) == 1 {
            print(Self.qrCode(of: url) ?? "  (Install the package qrencode to see it as a QR code here.)")
        }
        print("\n  \(url)\n")
        if isInteractive, try SetupDialogue.line("Enter sends it, s skips: ").lowercased().hasPrefix("s") { return }
        let refusal = await CredentialProbe(configuration, now: { .now() }).notify(SetupPlan.testPlatform, at: url)
        print(
            refusal.map {
                "  not sent: \($0). The router works without it; `carillon devices test` tries a device later."
            }
                ?? "  sent: \(server) took it"
        )
    }
}

extension SetupRun {
    /// Returns the QR code that the program qrencode draws for a terminal; `nil` if it is not installed.
    private static func qrCode(of text: String) -> String? {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["qrencode", "-t", "ANSIUTF8", text]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let drawn = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        return drawn.isEmpty ? nil : String(decoding: drawn, as: UTF8.self)
    }
}

/// Gives this command copies of the service's credentials in the way systemd does.
private enum PassedCredentials {
    static func use(_ files: [(name: String, path: String)], _ body: () async throws -> Void) async throws {
        guard !files.isEmpty else { return try await body() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-setup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(at: folder) }
        // Ctrl-C must not leave copies of the credentials behind.
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                try? FileManager.default.removeItem(at: folder)
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for file in files {
            guard let data = FileManager.default.contents(atPath: file.path) else { continue }
            _ = NewSecretFile.create(folder.appending(path: file.name).path, Array(data))
        }
        setenv("CREDENTIALS_DIRECTORY", folder.path, 1)
        defer { unsetenv("CREDENTIALS_DIRECTORY") }
        try await body()
    }
}
