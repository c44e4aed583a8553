import Dispatch
import Foundation

/// A finished command of the machine: an independent program to check ours, or to prepare a test.
package struct CommandRun {
    package let status: Int32
    /// Its standard output and standard error together.
    package let output: String

    /// Runs a command and waits for its end.
    package init(_ command: String, _ arguments: [String]) throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [command] + arguments
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        // Not waitUntilExit, because its run loop may miss the child's exit.
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        let written = try pipe.fileHandleForReading.readToEnd() ?? Data()
        ended.wait()
        status = process.terminationStatus
        output = String(decoding: written, as: UTF8.self)
    }
}
