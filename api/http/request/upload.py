"""Uploaded files: the raw body, or the field `file` of a multipart form."""

import time
from typing import NamedTuple

from falcon.asgi import Request
from falcon.asgi.multipart import BodyPart
from falcon.errors import MediaMalformedError, MultipartParseError
from falcon.media.multipart import MultipartFormHandler

from api.errors import ApiError, bad_request
from api.http.request.caller_access import check_again
from api.http.request.json_body import check_coding, read_bytes

_EXTENSIONS = (".tsv", ".csv")


class Upload(NamedTuple):
    """An uploaded file: its name (empty for a raw body) and bytes."""

    name: str
    data: bytes


async def read_upload(req: Request, limit: int) -> Upload:
    """Read the uploaded file; 400 if it is missing, 413 over `limit` bytes, 422 for another extension."""
    check_coding(req)
    if (req.content_type or "").partition(";")[0].strip().lower() != "multipart/form-data":
        return Upload("", await read_bytes(req, limit))
    upload = await _read_form(req, limit)
    if not upload.name.lower().endswith(_EXTENSIONS):
        message = f"The file name must end in {' or '.join(_EXTENSIONS)}."
        raise ApiError(422, "invalid_file", message)
    return upload


async def _read_form(req: Request, limit: int) -> Upload:
    # A handler for each request: Falcon keeps the size limit of a part (1 MiB unless set) in the handler's options.
    # https://falcon.readthedocs.io/en/stable/api/multipart.html#falcon.media.multipart.MultipartParseOptions
    handler = MultipartFormHandler()
    handler.parse_options.max_body_part_buffer_size = limit
    if (req.content_length or 0) > limit:
        raise ApiError(413, "body_too_large", f"The file is larger than the limit of {limit:,} bytes.")
    begun = time.monotonic()
    try:  # read to the end, so that a truncated form is refused as a whole
        form = await handler.deserialize_async(req.stream, req.content_type, req.content_length)
        found = [await _take(part) async for part in form if part.name == "file"]
    except (MultipartParseError, MediaMalformedError, UnicodeDecodeError) as ex:
        raise bad_request(
            "The multipart form is malformed or truncated; send the file in the field 'file'.", "malformed_form"
        ) from ex
    await check_again(req, begun)
    if len(found) != 1:
        raise bad_request(
            f"The form must have exactly one field 'file'; it has {len(found) or 'none'}.", "malformed_form"
        )
    return found[0]


async def _take(part: BodyPart) -> Upload:
    return Upload(part.secure_filename if part.filename else "", await part.get_data())
