import Core
import Foundation
import Glibc
import Logging
import Testing
import TimeTestSupport

@testable import Storage

struct LogOutputTests {
    private let now = Timestamp(milliseconds: 1_773_446_400_125)

    private func record(_ message: String, _ fields: [(String, String)] = []) -> LogRecord {
        LogRecord(at: now, level: .warning, component: "Relays", message: message, fields: fields)
    }

    @Test func textLogIsAlwaysOneLine() {
        let text = record("one\ntwo", [("reason", "a\u{1B}[31m"), ("x", "y")]).text
        #expect(text.hasSuffix(" warning [Relays] one\\ntwo reason=\"a [31m\" x=y"))
    }

    @Test(arguments: [
        ("one", "one"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""),
        ("say \"hi\"", "\"say \\\"hi\\\"\""),
        ("wss://relay.example.com/?q=1", "\"wss://relay.example.com/?q=1\""), ("x level=error", "\"x level=error\""),
        ("a\\\" b=c", "\"a\\\\\\\" b=c\""),
    ])
    func textQuotesValuesThatAreNotOneWord(value: String, expected: String) {
        #expect(record("Message", [("field", value)]).text.hasSuffix("] Message field=\(expected)"))
    }

    @Test func jsonIsOneObject() throws {
        let text = record("say \"hi\"\n", [("reason", "\u{1}"), ("x", "ü")]).json
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2026-03-14T00:00:00.125Z" && object["level"] as? String == "warning")
        #expect(object["message"] as? String == "say \"hi\"\n" && object["component"] as? String == "Relays")
        #expect(object["fields"] as? [String: String] == ["reason": "\u{1}", "x": "ü"])
        #expect(!text.contains("\n"))
    }

    @Test func theJournalGetsFields() {
        let entry = JournalEntry(
            record("Delivery", [("delivery", "abc"), ("error.message", "a\nb")]),
            identifier: "carillon"
        )
        let length: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0]
        let message = "Delivery delivery=abc error.message=a\nb"
        var expected = Array("MESSAGE\n".utf8) + [UInt8(message.utf8.count), 0, 0, 0, 0, 0, 0, 0] + message.utf8
        expected += "\nPRIORITY=4\nSYSLOG_IDENTIFIER=carillon\nCARILLON_COMPONENT=Relays\n".utf8
        expected += "CARILLON_EVENT=Delivery\nCARILLON_DELIVERY=abc\nCARILLON_ERROR_MESSAGE\n".utf8
        expected += length + Array("a\nb\n".utf8)
        #expect(entry.bytes == expected)
    }

    @Test func longValuesAreCut() {
        let entry = JournalEntry(record(String(repeating: "x", count: 100_000)), identifier: "carillon")
        #expect(entry.bytes.count < 20_000)
        let many = (0..<1_000).map { ("key\($0)", String(repeating: "y", count: 1_000)) }
        #expect(JournalEntry(record("m", many), identifier: "carillon").bytes.count < 60_000)
    }

    @Test func fieldNamesFollowTheJournal() {
        #expect(JournalEntry.name(of: "at one host") == "CARILLON_AT_ONE_HOST")
        #expect(JournalEntry.name(of: String(repeating: "ä", count: 100)).utf8.count == 64)
    }

    /// A journal that a test plays, and a file instead of standard error.
    private final class Stage {
        let folder: String
        let journal: Int32
        let file: Int32
        let fileStream: String

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "logs-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            journal = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let path = folder + "/journal"
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let journal = journal
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(journal, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
            #expect(isBound)
            file = open(folder + "/stderr", O_RDWR | O_CREAT, 0o600)
            var status = stat()
            fstat(file, &status)
            fileStream = "\(status.st_dev):\(status.st_ino)"
        }

        deinit {
            close(journal)
            close(file)
            try? FileManager.default.removeItem(atPath: folder)
        }

        func output(stream: String?, journal: String? = nil) -> LogOutput {
            LogOutput(
                levels: LogLevels(),
                descriptor: file,
                journalStream: stream,
                journalPath: journal ?? folder + "/journal"
            )
        }

        var datagram: String {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(journal, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }

        var printed: String { (try? String(contentsOfFile: folder + "/stderr", encoding: .utf8)) ?? "" }
    }

    private func log(_ output: LogOutput, _ message: String, _ fields: Logger.Metadata = [:]) {
        Logger(label: "carillon") { output.handler(label: $0) }.notice(
            "\(message)",
            metadata: fields,
            source: "Delivery"
        )
    }

    @Test func underSystemdTheJournalIsWrittenToDirectly() throws {
        let stage = try Stage()
        let output = stage.output(stream: stage.fileStream)
        #expect(output.use(.auto))
        log(output, "Delivery", ["outcome": "gone"])
        let datagram = stage.datagram
        #expect(datagram.contains("PRIORITY=5\n") && datagram.contains("CARILLON_OUTCOME=gone\n"))
        #expect(stage.printed.isEmpty)
    }

    @Test func logDefaultsToText() throws {
        let stage = try Stage()
        let output = stage.output(stream: nil)
        #expect(output.use(.auto))
        log(output, "Delivery")
        #expect(stage.datagram.isEmpty && stage.printed.hasSuffix(" notice [Delivery] Delivery\n"))
        #expect(output.use(.json))
        log(output, "next")
        #expect(stage.printed.split(separator: "\n").last?.hasPrefix(#"{"time":"#) == true)
    }

    @Test func whereNoJournalListensPrioritiesAreInFront() throws {
        let stage = try Stage()
        let output = stage.output(stream: stage.fileStream, journal: stage.folder + "/nobody")
        #expect(!output.use(.auto))
        log(output, "Delivery")
        #expect(stage.printed.hasPrefix("<5>20"))
    }

    @Test func levelsDecideForEachComponent() throws {
        let stage = try Stage()
        let output = stage.output(stream: nil)
        output.levels.set(LogLevels.Setting(component: "Delivery", level: .error))
        log(output, "silent")
        #expect(stage.printed.isEmpty)
        output.levels.reset()
        log(output, "heard")
        #expect(stage.printed.contains("heard"))
    }
}
