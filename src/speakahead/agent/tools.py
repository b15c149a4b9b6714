"""Two example tools with local data: the status of an order, and opening hours."""

from __future__ import annotations

import asyncio
from typing import Any

from strands import tool

_ORDERS = {
    "1042": "was shipped on Monday and arrives on Thursday",
    "1043": "is being packed and leaves tomorrow",
    "1044": "was delivered yesterday at the front desk",
}
_HOURS = {
    "monday": "9 a.m. to 6 p.m.",
    "tuesday": "9 a.m. to 6 p.m.",
    "wednesday": "9 a.m. to 6 p.m.",
    "thursday": "9 a.m. to 8 p.m.",
    "friday": "9 a.m. to 8 p.m.",
    "saturday": "10 a.m. to 4 p.m.",
    "sunday": "closed",
}
_LOOK_UP_S = 0.4  # what asking a real system takes, at least


@tool
async def order_status(order_number: str) -> dict[str, Any]:
    """Look up where an order is.

    Args:
        order_number: The number of the order, such as 1042.
    """
    await asyncio.sleep(_LOOK_UP_S)
    status = _ORDERS.get(order_number.strip().lstrip("#"))
    if status is None:
        return _answer(f"There is no order {order_number}.", "error")
    return _answer(f"Order {order_number} {status}.")


@tool
async def opening_hours(day: str) -> dict[str, Any]:
    """Look up when the shop is open.

    Args:
        day: A day of the week, in English.
    """
    await asyncio.sleep(_LOOK_UP_S)
    hours = _HOURS.get(day.strip().lower())
    if hours is None:
        return _answer(f"{day} is not a day of the week.", "error")
    return _answer(f"On {day.strip().capitalize()}: {hours}.")


def _answer(text: str, status: str = "success") -> dict[str, Any]:
    return {"status": status, "content": [{"text": text}]}


TOOLS = (order_status, opening_hours)
