import Nostr
import Testing

@Suite struct RemoteSigningMessageTests {
    @Test func requestsAreReadAsClientsWriteThem() throws {
        let json = #"{"id":"27","method":"connect","params":["ab", null, "p\"q"],"extra":[1]}"#
        let request = try RemoteSigningRequest(json: json)
        #expect(request == RemoteSigningRequest(id: "27", method: "connect", params: ["ab", "", "p\"q"]))
        #expect(try RemoteSigningRequest(json: request.json) == request)
        #expect(try RemoteSigningRequest(json: #"{"id":"1","method":"ping"}"#).params.isEmpty)
        #expect(try RemoteSigningRequest(json: #"{"id":"1","method":"ping","params":null}"#).params.isEmpty)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"id":1,"method":"ping"}"#, #"{"id":"","method":"ping"}"#,
        #"{"id":"1","id":"2","method":"ping"}"#,
        #"{"id":"\#(String(repeating: "x", count: 257))","method":"ping"}"#,
    ])
    func whatCannotBeAnsweredSaysSo(_ json: String) {
        #expect(throws: RemoteSigningRequestError.notARequest) { try RemoteSigningRequest(json: json) }
    }

    @Test(arguments: [
        #"{"id":"1"}"#, #"{"id":"1","method":7}"#, #"{"id":"1","method":""}"#, #"{"id":"1","method":"m","params":{}}"#,
        #"{"id":"1","method":"m","params":["a",1]}"#, #"{"id":"1","method":"m","params":"a"}"#,
    ])
    func mistakesKeepTheIDForTheAnswer(_ json: String) {
        let error = #expect(throws: RemoteSigningRequestError.self) { try RemoteSigningRequest(json: json) }
        #expect(error?.id == "1")
    }

    @Test func responsesHaveAResultOrAnError() {
        let result = RemoteSigningResponse(id: "1", .result("pong"))
        #expect(result.json == #"{"id":"1","result":"pong"}"#)
        let error = RemoteSigningResponse(id: "1", .error("no\n\"way\""))
        #expect(error.json == #"{"id":"1","error":"no\n\"way\""}"#)
        for response in [result, error] { #expect(RemoteSigningResponse(json: response.json) == response) }
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":"y"}"#)?.outcome == .error("y"))
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":""}"#)?.outcome == .result("x"))
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":null}"#)?.outcome == .result("x"))
        #expect(RemoteSigningResponse(json: #"{"id":"1"}"#) == nil)
    }

    @Test func aBunkerURLSaysWhereAndWithWhatToConnect() throws {
        let hex = "fa984bd7dbb282f07e16e7ae87b26a2a7b9b90b7246a44771f0cf5ae58018f52"
        let key = try #require(PublicKey(hex: hex))
        let relays = ["wss://relay.example.com", "ws://127.0.0.1:7447/a?b=c&d"]
        let url = BunkerURL(signer: key, relays: relays, secret: "0a f")
        let expected =
            "bunker://\(hex)?relay=wss%3A%2F%2Frelay.example.com&relay=ws%3A%2F%2F127.0.0.1%3A7447%2Fa%3Fb%3Dc%26d"
            + "&secret=0a%20f"
        #expect(url.reveal() == expected)
        #expect(BunkerURL(signer: key, relays: []).reveal() == "bunker://\(hex)")
        #expect(!"\(url)".contains("0a"))
    }
}
