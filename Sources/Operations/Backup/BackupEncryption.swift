import Cipher
import Foundation
import Glibc

/// A program that encrypts and decrypts backups. It must be installed; data passes through pipes.
enum BackupEncryption: String, Sendable, Hashable {
    case age, gpg

    /// Chooses the program for a recipient: age for age and SSH public keys, gpg for all others.
    init(recipient: String) {
        self = ["age1", "ssh-"].contains { recipient.hasPrefix($0) } ? .age : .gpg
    }

    /// Detects the program from the start of a file; nil if the file is not encrypted, as in a tar archive.
    init?(start: some Collection<UInt8>) {
        func starts(_ text: String) -> Bool { start.starts(with: text.utf8) }
        if starts("age-encryption.org/") || starts("-----BEGIN AGE ENCRYPTED FILE-----") {
            self = .age
        } else if starts("-----BEGIN PGP MESSAGE-----") || start.first.map({ $0 & 0x80 != 0 }) == true {
            // RFC 9580, section 4.2: the first bit of a packet is always 1.
            self = .gpg
        } else {
            return nil
        }
    }

    func encrypting(for recipient: String) -> [String] {
        switch self {
        case .age: ["age", "--encrypt", "--recipient", recipient]
        case .gpg: ["gpg", "--batch", "--quiet", "--encrypt", "--recipient", recipient]
        }
    }

    /// `identity` is the file with the age identity; gpg uses its keyring. Throws a ``BackupError`` if the file is
    /// missing.
    func decrypting(_ path: String, identity: String?) throws -> [String] {
        switch self {
        case .age:
            guard let identity else {
                throw BackupError(
                    "\(path) is encrypted with age: add --identity with the file of your private key. If it has a passphrase "
                        + "instead, run: age --decrypt \(path) | carillon backup restore - (or verify -)"
                )
            }
            return ["age", "--decrypt", "--identity", identity]
        case .gpg: return ["gpg", "--quiet", "--decrypt"]
        }
    }
}

/// Runs system programs as a pipeline.
enum ProgramPipe {
    /// Runs the programs, found by PATH, and waits until all have exited. The first reads `input`, the last writes to
    /// `output`; messages go to standard error. Throws a ``BackupError`` that names the failed programs.
    static func run(_ programs: [[String]], input: Int32, output: Int32) throws {
        var processes: [(name: String, id: pid_t)] = []
        var source = input
        var failed: [String] = []
        var missing: BackupError?
        for (index, words) in programs.enumerated() {
            var ends: [Int32] = [-1, output]
            if index < programs.count - 1 {
                guard pipe(&ends) == 0 else { throw BackupError.failure("create", "a pipe") }
                for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            }
            do {
                processes.append((words[0], try start(words, input: source, output: ends[1])))
            } catch let error as BackupError {
                missing = missing ?? error
            }
            // The child processes see the end of a pipe only if this process has closed it.
            if source != input { close(source) }
            if ends[1] != output { close(ends[1]) }
            source = ends[0]
        }
        for (name, id) in processes where !wait(for: id) { failed.append(name) }
        if let missing { throw missing }
        guard failed.isEmpty else {
            throw BackupError("\(failed.joined(separator: " and ")) failed: see the messages above")
        }
    }

    private static func start(_ words: [String], input: Int32, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        let arguments = words.map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var id: pid_t = 0
        let error = posix_spawnp(&id, words[0], &actions, nil, arguments, environment)
        guard error == 0 else {
            throw BackupError(
                error == ENOENT
                    ? "\(words[0]) is missing: install the package \(words[0] == "gpg" ? "gnupg" : words[0])"
                    : "cannot start \(words[0]): \(String(cString: strerror(error)))"
            )
        }
        return id
    }

    /// Waits for a process, and returns whether its exit status is 0.
    private static func wait(for id: pid_t) -> Bool {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            if errno != EINTR { return false }
        }
        return status == 0
    }
}

/// Why a backup cannot be made, read or restored, in a sentence for the operator. Contains no secrets.
package struct BackupError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    static func damaged(_ what: String) -> BackupError {
        BackupError("the backup is damaged: \(what). No part of it was used. Use another copy of the file")
    }

    /// Describes the system call that just failed, by default from `errno`.
    package static func failure(_ verb: String, _ path: String, _ number: Int32 = errno) -> BackupError {
        BackupError("cannot \(verb) \(path): \(String(cString: strerror(number)))")
    }
}

extension NewSecretFile {
    /// Makes a file that only this user can read. Throws a ``BackupError``; `verb` starts its message.
    static func make(_ path: String, _ content: [UInt8] = [], verb: String = "create") throws(BackupError) {
        let number = create(path, content)
        guard number == 0 else { throw .failure(verb, path, number) }
    }
}
