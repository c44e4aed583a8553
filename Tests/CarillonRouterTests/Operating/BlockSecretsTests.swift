import Foundation
import HTTPClient
import PluginHost
import Testing

@testable import Operations
@testable import RouterConfiguration

@Suite struct BlockSecretsTests {
    private func secrets(_ json: String, fromEnvironment: [String] = []) -> BlockSecrets {
        BlockSecrets(
            RouterConfiguration.Configuration.PlatformBlock(json: json, line: 1, fromEnvironment: fromEnvironment)
        )
    }

    @Test(arguments: [
        #"{"client_secret":"hidden"}"#, #"{"secrets":["hidden"]}"#, #"{"a":{"b":{"secrets":{"c":{"d":"hidden"}}}}}"#,
        #"{"password":"hidden"}"#, #"{"token":"hidden"}"#, #"{"a":[{"api-key":"hidden"}]}"#,
    ])
    func valueUnderASecretsNameIsBlanked(_ json: String) {
        #expect(secrets(json).blanking("a hidden word") == "a … word")
    }

    @Test(arguments: [
        #"{"topic":"hidden"}"#, #"{"key_id":"hidden"}"#, #"{"token":{"expected":"hidden"}}"#, #"{"monkey":"hidden"}"#,
    ])
    func valueUnderAnOrdinaryNameIsShown(_ json: String) {
        #expect(secrets(json).blanking("a hidden word") == "a hidden word")
    }

    @Test func valueFromTheEnvironmentIsBlanked() {
        #expect(secrets("{}", fromEnvironment: ["http://host:1"]).blanking("http://host:1/notify/x") == "…/notify/x")
    }

    /// Short values are not blanked. If one secret is part of another, both are blanked completely.
    @Test func shortValuesAreNotSecrets() {
        #expect(secrets(#"{"secrets":["abc","abcd","abcdef"]}"#).blanking("abc abcd abcdef") == "abc … …")
    }

    @Test func contentOfASecretFileIsBlanked() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("first-line\n  second-line\n".utf8).write(to: URL(filePath: file))
        let secrets = secrets(#"{"token_file":"\#(file)"}"#)
        #expect(secrets.blanking("/first-line/second-line") == "/…/…")
    }

    /// Writers of URLs and JSON differ in the characters that they encode.
    @Test(arguments: [
        "https://u:p@h/ é😀", "https:%2F%2Fu:p%40h%2F%20%c3%a9%F0%9F%98%80",
        "https%3A%2F%2Fu%3Ap%40h%2F+%C3%A9%F0%9f%98%80",
        #"https:\/\/u:p@h\/ é😀"#, #"https://u:p@h/ \u00e9\ud83d\uDE00"#, #"\u0068ttps://u:p@h/\u0020é😀"#,
    ])
    func everySpellingOfASecretIsBlanked(_ spelling: String) {
        let secrets = secrets(#"{"secrets":["https://u:p@h/ é😀"]}"#)
        #expect(secrets.blanking("<\(spelling)>") == "<…>")
        #expect(secrets.blanking("https%zz \\ud83d \\ %") == "https%zz \\ud83d \\ %")
    }

    @Test func encodedFormsOfASecretAreBlanked() {
        #expect(secrets(#"{"secrets":["50%25+\\\\n"]}"#).blanking(#"a 50%25+\\n 50%2525%2B%5C%5Cn"#) == "a … …")
    }

    /// Secrets are found in all spellings that a URL, a form or a JSON body can have.
    @Test func everyPartOfARequestIsBlanked() {
        let request = HTTPRequest(
            method: "POST",
            url: "https://push.example.com/a%20b%2F%22c/send?key=a+b%2F%22c",
            headers: [HTTPField("authorization", #"Bearer a b/"c"#), HTTPField("ttl", "0")],
            body: Array(#"{"one":"a b/\"c","two":"a b\/\"c"}"#.utf8)
        )
        let blanked = secrets(#"{"secrets":["a b/\"c"]}"#).blanking(request)
        #expect(blanked.url == "https://push.example.com/…/send?key=…")
        #expect(blanked.headers.map(\.value) == ["Bearer …", "0"])
        #expect(String(decoding: blanked.body, as: UTF8.self) == #"{"one":"…","two":"…"}"#)
        #expect(blanked.transcriptHead.contains("authorization: Bearer …\n"))
    }
}
