import HTTPClient
import Testing

@testable import PluginHost

@Suite struct TranscriptTests {
    private func transcript(authorization: String) -> String {
        HTTPRequest(
            method: "POST",
            url: "https://push.example.com/x",
            headers: [HTTPField("authorization", authorization), HTTPField("ttl", "0")]
        ).transcript
    }

    @Test func tokenSignatureIsOmitted() {
        let text = transcript(authorization: "bearer aGVhZGVy.Y2xhaW1z.c2lnbmF0dXJl")
        #expect(text == "POST https://push.example.com/x\nauthorization: bearer aGVhZGVy.Y2xhaW1z.…\nttl: 0")
    }

    @Test func opaqueCredentialIsTruncated() {
        let text = transcript(authorization: "Bearer tk_0123456789abcdef")
        #expect(text.contains("authorization: Bearer tk_01…\n"))
    }

    @Test func passwordIsOmitted() {
        #expect(transcript(authorization: "Basic OnB3").contains("authorization: Basic …\n"))
    }

    @Test func binaryBodyIsShownBySize() {
        let request = HTTPRequest(method: "POST", url: "https://push.example.com/x", body: [0xFF, 0xFE, 0x00])
        #expect(request.transcript.hasSuffix("(3 bytes that are not text)"))
    }

    @Test func botTokenInTheURLIsTruncated() {
        let request = HTTPRequest(method: "POST", url: "https://api.telegram.org/bot123:AAEsecret/sendMessage")
        #expect(request.transcriptHead == "POST https://api.telegram.org/bot123:…/sendMessage")
        #expect(
            HTTPRequest(method: "GET", url: "http://bottles.example:80/a:b").readableURL
                == "http://bottles.example:80/a:b"
        )
    }
}
