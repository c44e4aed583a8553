import CIsolation
import CommandTestSupport
import Foundation
import Synchronization
import Testing

/// Files that the tests need: the program, built plugins, and plugins compiled from `Fixtures/guest.c`.
enum Guest {
    private static let compiled = Mutex<[[String]: String]>([:])
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of the tests' process; it disappears at the latest when the machine restarts.
    private static let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        .appending(path: "carillon-guests-\(ProcessInfo.processInfo.processIdentifier)")

    /// A file that a hostile plugin may try to read.
    static let secret = folder.appending(path: "secret").path

    /// Returns the path of the library compiled from the fixture with these macros.
    static func library(_ macros: String...) throws -> String { try library(macros.map { "-D" + $0 }) }

    /// The same, linked with Dispatch, which these tests use too.
    static func dispatchLibrary() throws -> String {
        let names = withUnsafeTemporaryAllocation(of: carillon_module.self, capacity: 512) { modules in
            let count = carillon_list_modules(modules.baseAddress, modules.count)
            return modules.prefix(count).compactMap { $0.name.map { String(cString: $0) } }
        }
        let path = try #require(names.first { $0.hasSuffix("/libdispatch.so") })
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return try library(["-DDISPATCH", "-Wl,-rpath,\(folder)", path])
    }

    private static func library(_ flags: [String]) throws -> String {
        try compiled.withLock { compiled in
            if let path = compiled[flags] { return path }
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("secret".utf8).write(to: URL(filePath: secret))
            let output = folder.appending(path: "guest-\(compiled.count).so").path
            let source = repository.appending(path: "Tests/CarillonPluginHostTests/Fixtures/guest.c").path
            let usual = [
                "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-shared", "-fPIC", "-fno-omit-frame-pointer",
                "-I", repository.appending(path: "include").path, "-DSECRET=\"\(secret)\"",
            ]
            let result = try CommandRun("cc", usual + [source] + flags + ["-o", output])
            try #require(result.status == 0, "\(result.output)")
            compiled[flags] = output
            return output
        }
    }

    // MARK: System calls

    /// The signal that ended the program of `Fixtures/calls.c`.
    struct Ended: Error, Equatable { let signal: Int32 }

    /// Returns the table of the sandbox page: a call with its arguments, the result while loading, and while running.
    static func tableOfCalls() throws -> [[String]] {
        let page = try String(contentsOf: repository.appending(path: "contrib/docs/sandbox.md"), encoding: .utf8)
        return page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
                .enumerated().map { $0 == 0 ? $1.replacing(" + ", with: "|") : $1 }
        }
    }

    /// Tries calls in a stage of the sandbox; returns each row of the output as a call and its result.
    @discardableResult
    static func tryCalls(_ stage: String, _ rows: [String]) throws -> [[String]] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let input = folder.appending(path: "calls-\(UUID().uuidString)").path
        try Data(rows.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: input))
        let command = "'\(try callsProgram.get())' \(stage) <'\(input)' 2>/dev/null; exit $?"
        let run = try CommandRun("sh", ["-c", command])
        guard run.status <= 128 else { throw Ended(signal: run.status - 128) }
        try #require(run.status == 0, "\(run.output)")
        return run.output.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    }

    private static let callsProgram = Result {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let output = folder.appending(path: "calls").path
        let isolation = repository.appending(path: "Sources/System/CIsolation")
        let names = try FileManager.default.contentsOfDirectory(atPath: isolation.path).filter { $0.hasSuffix(".c") }
        let sources = names.map { isolation.appending(path: $0).path }
        let fixture = repository.appending(path: "Tests/CarillonPluginHostTests/Fixtures/calls.c").path
        let result = try CommandRun(
            "cc",
            ["-Wall", "-Wextra", "-pthread", "-I", isolation.appending(path: "include").path, fixture] + sources
                + ["-lseccomp", "-o", output]
        )
        try #require(result.status == 0, "\(result.output)")
        return output
    }

    /// Returns the path of a file that `swift build` made, next to the running tests.
    static func built(_ name: String) throws -> String {
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let candidates = [here] + CommandLine.arguments.map { URL(filePath: $0) }
        let file = candidates.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        return try #require(file, "\(name) is not beside the tests: run swift build, then the tests again").path
    }
}
