import CarillonLab
import Testing

struct TakenTests {
    @Test(
        arguments: [
            (nil, 200, true), (nil, 400, false), (.answer(status: 201), 201, true), (.answer(status: 503), 503, false),
            (.html(status: 200), 200, true), (.delay(milliseconds: 9), 200, true), (.limitStreams(1), 200, true),
            (.goAway(gracefully: true), 200, true), (.goAway(gracefully: false), nil, false),
            (.refuseStream, nil, false), (.reset(code: 2), nil, true), (.close, nil, true), (.cut, nil, true),
            (.silence, nil, true),
        ] as [(Misbehaviour.Conduct?, Int?, Bool)]
    )
    func aPushIsTakenUnlessItsSenderWasToldOtherwise(_ conduct: Misbehaviour.Conduct?, _ status: Int?, _ isTaken: Bool)
    {
        let request = ReceivedRequest(
            service: .apns,
            receivedAt: 0,
            connection: 1,
            method: "POST",
            path: "/",
            target: "",
            status: status,
            misbehaviour: conduct,
            headers: [],
            body: []
        )
        #expect(request.isTaken == isTaken)
    }
}
