/// The values of `push-type` in an `apns` block, which are APNs' own.
enum APNsPushType: String, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls
}
